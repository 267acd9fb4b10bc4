/** What can be done, as the log calls it. */

export type AuditAction =
  | `user.${'created' | 'renamed' | 'named' | 'disabled' | 'enabled' | 'disabled_by_source' | 'enabled_by_source' | 'password_changed' | 'email_changed' | 'notices_chosen' | 'account_added' | 'holding_set' | 'holding_removed' | 'removed' | 'reset_sent' | 'role_given' | 'role_taken' | 'roles_provided'}`
  | `session.${'opened' | 'confirmed' | 'refused' | 'throttled' | 'closed' | 'others_closed' | 'all_closed' | 'ended_by_provider' | 'wait_lifted'}`
  | `second_factor.${'added' | 'removed' | 'reset' | 'locked'}`
  | 'recovery_codes.made'
  | `api_token.${'created' | 'revoked'}`
  | `partner.${'applied' | 'renamed' | 'approved' | 'declined' | 'suspended' | 'message_sent' | 'refresh_asked' | 'refresh_granted' | 'refresh_withdrawn' | 'member_invited' | 'invitation_resent' | 'invitation_declined' | 'invitation_withdrawn' | 'member_added' | 'member_removed' | 'role_changed'}`
  | `client.${'created' | 'updated' | 'suspended' | 'activated' | 'secret_issued' | 'secret_revoked' | 'key_added' | 'token_issued' | 'key_removed' | 'keys_placed' | 'certificate_set' | 'scopes_set' | 'scopes_required' | 'scopes_asked' | 'scopes_granted' | 'scopes_declined' | 'profile_set' | 'profile_asked' | 'profile_declined' | 'look_given' | 'look_accepted' | 'look_declined' | 'look_withdrawn'}`
  | `brand.${'drafted' | 'draft_discarded' | 'activated' | 'returned'}`
  | `service.${'created' | 'provisioning_set' | 'reading_set' | 'secret_issued' | 'revoked'}`
  | `credential.${'created' | 'revoked'}`
  | 'object.labelled'
  | `provider.${'added' | 'drafted' | 'changed' | 'removed' | 'credential_replaced'}`
  | `identity.${'linked' | 'unlinked' | 'unknown' | 'refused'}`
  | `authorization.${'approved' | 'denied' | 'revoked' | 'narrowed' | 'paused' | 'resumed'}`
  | `code.${'exchanged' | 'replayed' | 'presented_by_other_client'}`
  | `token.${'refreshed' | 'rotated' | 'reuse_detected' | 'revoked'}`
  | `webhook.${'created' | 'updated' | 'deleted' | 'paused' | 'resumed' | 'disabled' | 'expired' | 'secret_rotated' | 'redelivered' | 'replayed' | 'replay_canceled' | 'recovered' | 'probed' | 'delivery_skipped' | 'skipped'}`
  | `alert.${'address_added' | 'code_sent' | 'address_confirmed' | 'address_removed' | 'changed' | 'tested'}`
  | `source.${'created' | 'role_allowed' | 'role_withdrawn'}`
  | `provisioning.${'applied' | 'merged' | 'linked'}`
  | `import.${'started' | 'finished' | 'allowed' | 'stopped'}`
  | `keys.${'rotated' | 'pruned'}`
  | `proposal.${'made' | 'approved' | 'declined' | 'withdrawn' | 'outdated' | 'bypassed'}`
  | `audit.${'verified' | 'exported'}`
  | 'list.exported'

/** Recorded by a trigger, whichever program makes the change (migrations/0006-notices.sql). */
export type TriggeredAction = 'user.email_changed'

/**
 * Acts that could hand an account to another person: recorded by users/guarded-act.ts alone, which tells the
 * owner of it.
 */
export type GuardedAction =
  | 'user.password_changed'
  | `second_factor.${'added' | 'removed' | 'reset' | 'locked'}`
  | 'recovery_codes.made'
  | 'api_token.created'
