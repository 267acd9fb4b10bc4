/**
 * The kinds of notices, and what each tells. Facts, not text: the words are found when the message is
 * composed.
 */
import type { AuditEntry } from '../audit/audit.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { MemberRole } from '../vocabulary/member-role.ts'
import type { ProposalKind } from '../vocabulary/proposal-kind.ts'

export interface NoticeFacts {
  readonly 'sign-in': {
    readonly environment: Environment
    readonly address: string
    readonly userAgent: string
  }
  readonly application: {
    readonly environment: Environment
    readonly client: string
    readonly partner: string
    readonly scopes: readonly string[]
    readonly address: string | null
  }
  /** Of what happened to accounts: closed, or no longer held. */
  readonly 'access-ended': {
    readonly environment: Environment
    readonly client: string
    readonly partner: string
    readonly accounts: readonly string[]
    readonly ended: boolean
    readonly reason: string
  }
  readonly address: GuardFacts & { readonly changed: 'set' | 'replaced' | 'removed' }
  readonly password: GuardFacts
  readonly 'second-factor': GuardFacts & {
    readonly change: 'added' | 'removed' | 'reset' | 'locked'
    readonly factor: string | null
  }
  readonly 'recovery-codes': GuardFacts
  readonly 'api-token': GuardFacts & { readonly environment: Environment; readonly name: string }
  readonly 'webhook-failing': WebhookFacts & { readonly since: string }
  readonly 'webhook-recovered': WebhookFacts & { readonly since: string }
  readonly 'webhook-disabled': WebhookFacts & { readonly reason: string }
  readonly 'secret-expiring': EndingClientSecret | EndingSigningSecret
  /** What came up at once, or beyond what is mailed in an hour, as one message. */
  readonly alerts: {
    readonly reader: 'partner' | 'staff'
    readonly environment: Environment
    readonly alerts: readonly { readonly kind: AlertKind; readonly facts: object }[]
    /** Not listed. */
    readonly more: number
  }
  readonly 'partner-decided': PartnerFacts & {
    readonly status: 'approved' | 'declined' | 'suspended'
    readonly reason: string | null
  }
  /** Without its text: what others wrote is read behind a sign-in. */
  readonly 'partner-message': PartnerFacts & { readonly readBy: 'partner' | 'brokerage' }
  /** From when on a client has FAPI 2.0; null: the standard profile. */
  readonly 'client-profile': PartnerFacts & {
    readonly environment: Environment
    readonly clientId: string
    readonly client: string
    readonly from: string | null
    readonly endsBearers: boolean
    /** One that counts while FAPI 2.0 is not demanded. */
    readonly hasSecret: boolean
  }
  /**
   * To an address, whether or not it has a user. The link is found when the message is composed: see
   * invitation-link.ts.
   */
  readonly invitation: PartnerFacts & {
    readonly role: MemberRole
    readonly invitedBy: string | null
    readonly expiresAt: string
    readonly seed: string
    readonly tokenHash: string
  }
  /**
   * For a user who forgot their password. The link is found when the message is composed: see
   * invitation-link.ts.
   */
  readonly 'password-reset': { readonly seed: string; readonly tokenHash: string; readonly expiresAt: string }
  /** An operator signed in past their provider. */
  readonly 'staff-password': {
    readonly name: string
    readonly environment: Environment
    readonly from: string | null
    readonly userAgent: string | null
  }
  readonly 'member-joined': PartnerFacts & { readonly name: string; readonly role: MemberRole }
  /** The person it is about is named only behind a sign-in. */
  readonly proposal: { readonly kind: ProposalKind; readonly proposalId: number; readonly expiresAt: string }
  /** As an address of the brokerage is told it (alert.ts). */
  readonly operations: { readonly kind: AlertKind; readonly facts: object }
  readonly 'break-glass': { readonly kind: ProposalKind; readonly by: string; readonly subject: string }
  /**
   * An entry of the log that changes a person's power (src/audit/powers.ts). The trigger `tell_of_power`
   * writes it.
   */
  readonly power: Pick<AuditEntry, 'action' | 'actor' | 'subject' | 'details'> & {
    /** Of the people it names. */
    readonly names: Readonly<Record<string, string>>
  }
}

interface PartnerFacts {
  readonly partner: string
  readonly branchId: number
}

/** Of a change that could hand an account to another person. */
export interface GuardFacts {
  readonly byHolder: boolean
  readonly from: string | null
  readonly userAgent: string | null
  /** The address that this goes to was replaced or removed lately. */
  readonly former?: boolean
  /** It stands for all of its kind within the hour. */
  readonly more?: boolean
}

interface WebhookFacts {
  readonly environment: Environment
  readonly partner: string
  readonly branchId: number
  readonly webhookId: number
  readonly url: string
}

export interface EndingClientSecret {
  readonly environment: Environment
  readonly partner: string
  readonly branchId: number
  readonly client: string
  readonly madeAt: string
  readonly endsAt: string
  readonly lastUsedAt: string | null
}

/** One that signed a webhook's deliveries before the secret that signs them now. */
export type EndingSigningSecret = WebhookFacts & { readonly endsAt: string }

export type NoticeKind = keyof NoticeFacts

/** Of a user. An invitation goes to an address. */
export type PersonalKind = Exclude<NoticeKind, 'invitation'>

export type GuardKind = 'address' | 'password' | 'second-factor' | 'recovery-codes' | 'api-token'

/**
 * Those of partners' members, and of the operators who answer them. The others guard the account: a thief of
 * the account would decline them first.
 */
export const declinable = [
  'webhook-failing',
  'webhook-recovered',
  'webhook-disabled',
  'secret-expiring',
  'partner-decided',
  'partner-message',
  'client-profile',
  'member-joined',
  'operations',
] as const
export type DeclinableKind = (typeof declinable)[number]

/** Of the brokerage's staff, who cannot decline them. */
export const staffKinds = ['proposal', 'break-glass', 'power', 'staff-password'] as const
