/**
 * An entry as a sentence: who did what to whom. A person named by an id stays an id here (`{ id: 'user:id-…'
 * }`): the reader's page puts a name in its place, and keeps the id behind it. Every action has its sentence:
 * a new one does not compile without.
 */
import { findMemberRole } from '../vocabulary/member-role.ts'
import { findStaffRole } from '../vocabulary/permission.ts'
import { proposalKinds } from '../vocabulary/proposal-kind.ts'
import { proposalWords } from '../vocabulary/proposal-words.ts'
import { roleWords } from '../vocabulary/role-words.ts'
import { staffRoleWords } from '../vocabulary/staff-role-words.ts'
import type { AuditAction } from './action.ts'
import type { AuditEntry } from './audit.ts'

/** A person or a thing, by the id that the log has of it. */
interface Reference {
  readonly id: string
}

export type Sentence = readonly (string | Reference)[]

type EntryFacts = Pick<AuditEntry, 'actor' | 'action' | 'subject' | 'details'>

interface Act {
  readonly by: Reference
  readonly to: Reference
  /** The member, the holder or any other user whom an act names beside its subject. */
  readonly user: Reference
  readonly isOwn: boolean
  /** What the entry says of it; a dash where it says nothing. */
  said(name: string): string
  /** `a: b, c: d`. */
  pairs(name: string): string
  /** `1 delivery`, `2 deliveries`. */
  count(name: string, one: string, many?: string): string
}

type Words = (act: Act) => Sentence

function say(strings: TemplateStringsArray, ...values: readonly (string | Reference)[]): Sentence {
  return strings.flatMap((text, place) => [text, ...values.slice(place, place + 1)])
}

function asRole(said: Act['said']): string {
  const role = findMemberRole(said('role'))
  return role ? ` as ${roleWords[role].title}` : ''
}

function proposed(said: Act['said']): string {
  const kind = proposalKinds.find((each) => each === said('kind'))
  return kind ? proposalWords[kind] : said('kind')
}

function staffRole(said: Act['said']): string {
  const role = findStaffRole(said('role'))
  return role ? staffRoleWords[role].title : said('role')
}

const words: Readonly<Record<AuditAction, Words>> = {
  'user.created': ({ by, to, said }) =>
    said('role') === 'member'
      ? say`${to} made an account by an invitation`
      : say`${by} created ${to}${said('role') === 'operator' ? ' as an operator' : ''}`,
  'user.renamed': ({ by, to, said }) => say`${by} changed the user name of ${to} to ${said('to')}`,
  'user.named': ({ to, said }) => say`${said('provider')} told the name of ${to}: ${said('name')}`,
  'user.disabled': ({ by, to }) => say`${by} locked ${to}`,
  'user.enabled': ({ by, to }) => say`${by} unlocked ${to}`,
  'user.disabled_by_source': ({ by, to }) => say`${by} disabled ${to}, as the brokerage’s own system says`,
  'user.enabled_by_source': ({ by, to }) => say`${by} let ${to} in again, as the brokerage’s own system says`,
  'user.removed': ({ by, to }) => say`${by} removed ${to}, as the brokerage’s own system says`,
  'user.password_changed': ({ by, to, isOwn }) =>
    isOwn ? say`${by} changed their password` : say`${by} set a new password for ${to}`,
  'user.email_changed': ({ by, to, isOwn }) =>
    isOwn ? say`${by} changed their e-mail address` : say`${by} changed the e-mail address of ${to}`,
  'user.reset_sent': ({ by, to }) =>
    by.id === 'anonymous'
      ? say`A link for a new password was sent to ${to}`
      : say`${by} sent ${to} a link for a new password`,
  'user.notices_chosen': ({ by }) => say`${by} chose which e-mail notices they get`,
  'user.account_added': ({ by, to, said }) => say`${by} added account ${said('account_number')} to ${to}`,
  'user.holding_set': ({ by, to, said }) =>
    say`${by} made ${to} ${said('role')} of account ${said('account_number')}, with ${said('scopes')}`,
  'user.holding_removed': ({ by, to, said }) => say`${by} took account ${said('account_number')} from ${to}`,
  'user.role_given': ({ by, to, said }) => say`${by} gave ${to} the role ${staffRole(said)}`,
  'user.role_taken': ({ by, to, said }) => say`${by} took the role ${staffRole(said)} from ${to}`,
  'user.roles_provided': ({ to, said }) =>
    say`An identity provider changed the roles of ${to}: given ${said('given')}, taken ${said('taken')}`,
  'session.opened': ({ by, said }) =>
    say`${by} signed in${atProvider(said)}${withFactor(said)}${fromSite(said)}`,
  'session.confirmed': ({ by, said }) =>
    say`${by} confirmed that it was them${atProvider(said)}${withFactor(said)}`,
  'session.refused': ({ to, said }) => say`A ${refusedAt(said)} of ${to} was refused`,
  'session.throttled': ({ to, said }) =>
    say`A ${refusedAt(said)} of ${to} was refused, and further attempts have to wait`,
  'session.closed': ({ by, to, isOwn }) =>
    isOwn ? say`${by} signed out` : say`${by} signed out a device of ${to}`,
  'session.others_closed': ({ by, count }) => say`${by} signed out ${count('sessions', 'other device')}`,
  'session.all_closed': ({ by, to, count }) =>
    say`${by} signed out ${to} everywhere: ${count('sessions', 'session')}`,
  'session.ended_by_provider': ({ by, to, count }) =>
    say`${by} signed out ${to}: ${count('sessions', 'session')}`,
  'session.wait_lifted': ({ by, to }) => say`${by} let ${to} sign in again without waiting`,
  'second_factor.added': ({ by, said }) => say`${by} set up two-factor sign-in: ${said('factor')}`,
  'second_factor.removed': ({ by, said }) => say`${by} removed from two-factor sign-in: ${said('factor')}`,
  'second_factor.reset': ({ by, to }) => say`${by} reset two-factor sign-in of ${to}`,
  'second_factor.locked': ({ to }) =>
    say`The authenticator app of ${to} was locked after a hundred wrong codes`,
  'recovery_codes.made': ({ by }) => say`${by} made new recovery codes`,
  'api_token.created': ({ by, to, isOwn, said }) =>
    isOwn
      ? say`${by} made the API token “${said('name')}”`
      : say`${by} made the API token “${said('name')}” for ${to}`,
  'api_token.revoked': ({ by, to, isOwn }) =>
    isOwn ? say`${by} revoked an API token` : say`${by} revoked an API token of ${to}`,
  'partner.applied': ({ by, to }) => say`${by} applied as partner ${to}`,
  'partner.renamed': ({ by, to }) => say`${by} renamed partner ${to}`,
  'partner.approved': ({ by, to }) => say`${by} approved partner ${to}`,
  'partner.declined': ({ by, to, said }) => say`${by} declined the application of ${to}: ${said('reason')}`,
  'partner.message_sent': ({ by, to, said }) =>
    said('side') === 'partner' ? say`${by} wrote to the brokerage for ${to}` : say`${by} wrote to ${to}`,
  'partner.suspended': ({ by, to, said }) => say`${by} suspended partner ${to}: ${said('reason')}`,
  'partner.refresh_asked': ({ by, to }) => say`${by} asked for refresh access for ${to}`,
  'partner.refresh_granted': ({ by, to }) => say`${by} granted refresh access to ${to}`,
  'partner.refresh_withdrawn': ({ by, to }) => say`${by} withdrew or declined refresh access of ${to}`,
  'partner.member_invited': ({ by, to, said }) => say`${by} invited ${said('to')} to ${to}${asRole(said)}`,
  'partner.invitation_resent': ({ by, to, said }) =>
    say`${by} sent the invitation of ${said('to')} to ${to} again`,
  'partner.invitation_declined': ({ by, to }) => say`${by} declined an invitation to ${to}`,
  'partner.invitation_withdrawn': ({ by, to, said }) =>
    say`${by} withdrew the invitation of ${said('to')} to ${to}`,
  'partner.member_added': ({ by, to, user, said }) =>
    by.id === user.id
      ? say`${by} became a member of ${to}${asRole(said)}`
      : say`${by} made ${user} a member of ${to}${asRole(said)}`,
  'partner.role_changed': ({ by, to, user, said }) =>
    by.id === user.id
      ? say`${by} changed their own role at ${to} from ${said('from')} to ${said('role')}`
      : say`${by} changed the role of ${user} at ${to} from ${said('from')} to ${said('role')}`,
  'partner.member_removed': ({ by, to, user }) =>
    by.id === user.id ? say`${by} left ${to}` : say`${by} removed ${user} from ${to}`,
  'client.created': ({ by, to }) => say`${by} registered client ${to}`,
  'client.updated': ({ by, to }) => say`${by} changed client ${to}`,
  'client.suspended': ({ by, to }) => say`${by} suspended client ${to}`,
  'client.activated': ({ by, to }) => say`${by} activated client ${to}`,
  'client.secret_issued': ({ by, to }) => say`${by} issued a new secret of client ${to}`,
  'client.secret_revoked': ({ by, to }) => say`${by} revoked a secret of client ${to}`,
  'client.token_issued': ({ by }) => say`${by} got a token for its own webhooks`,
  'client.key_added': ({ by, to, said }) => say`${by} gave client ${to} the public key ${said('thumbprint')}`,
  'client.key_removed': ({ by, to, said }) =>
    say`${by} removed the public key ${said('thumbprint')} of client ${to}`,
  'client.keys_placed': ({ by, to, said }) =>
    said('jwksUri') === '–'
      ? say`${by} let the keys of client ${to} be as they are, and read at no address`
      : say`${by} let the keys of client ${to} be read at ${said('jwksUri')}`,
  'client.certificate_set': ({ by, to, said }) =>
    said('certificateSubject') === '–'
      ? say`${by} took the subject of its certificate from client ${to}`
      : say`${by} set the subject of the certificate of client ${to}: ${said('certificateSubject')}`,
  'client.scopes_set': ({ by, to, said }) => say`${by} allowed client ${to} at most: ${said('scopesAtMost')}`,
  'client.scopes_required': ({ by, to, said }) =>
    say`${by} let client ${to} require: ${said('scopesRequired')}`,
  'client.scopes_asked': ({ by, to, said }) =>
    say`${by} asked for wider scopes of client ${to}: ${said('scopes')}`,
  'client.scopes_granted': ({ by, to, said }) =>
    say`${by} granted client ${to} wider scopes: ${said('scopes')}`,
  'client.scopes_declined': ({ by, to, said }) =>
    say`${by} declined wider scopes of client ${to}: ${said('scopes')}`,
  'client.profile_set': ({ by, to, said }) =>
    said('from') === '–'
      ? say`${by} set the profile of client ${to}: ${said('profile')}`
      : say`${by} set the profile of client ${to}: ${said('profile')} from ${said('from')}`,
  'client.profile_asked': ({ by, to, said }) =>
    said('from') === '–'
      ? say`${by} asked for FAPI 2.0 of client ${to}`
      : say`${by} asked for FAPI 2.0 of client ${to} from ${said('from')}`,
  'client.profile_declined': ({ by, to }) => say`${by} declined FAPI 2.0 of client ${to}`,
  'client.look_given': ({ by, to }) => say`${by} sent what the consent page says of client ${to}`,
  'client.look_accepted': ({ by, to }) => say`${by} accepted what the consent page says of client ${to}`,
  'client.look_declined': ({ by, to, said }) =>
    say`${by} declined what the consent page would say of client ${to}: ${said('reason')}`,
  'client.look_withdrawn': ({ by, to, said }) =>
    say`${by} withdrew what the consent page says of client ${to}: ${said('reason')}`,
  'brand.drafted': ({ by, to, said }) => say`${by} changed the draft of ${to}: ${said('changed')}`,
  'brand.draft_discarded': ({ by, to }) => say`${by} discarded the draft of ${to}`,
  'brand.activated': ({ by, to, said }) => say`${by} activated ${to}: ${said('name')}`,
  'brand.returned': ({ by, to, said }) =>
    said('name') === '–'
      ? say`${by} ended ${to}: pages and mail are as the gateway comes`
      : say`${by} went back to ${to}: ${said('name')}`,
  'service.created': ({ by, to }) => say`${by} registered service ${to}`,
  'service.provisioning_set': ({ by, to, said }) =>
    say`${by} set for which sources service ${to} may provision: ${said('mayProvision')}`,
  'service.reading_set': ({ by, to, said }) =>
    said('audience') === '–'
      ? say`${by} set what service ${to} sees of tokens: ${said('sees')}`
      : say`${by} set what service ${to} sees of tokens for ${said('audience')}: ${said('sees')}`,
  'credential.created': ({ by, to, user, said }) =>
    say`${by} made ${to} for the administration API, which may do for ${user} what the role ${staffRole(said)} may`,
  'credential.revoked': ({ by, to }) => say`${by} revoked ${to} of the administration API`,
  'object.labelled': ({ by, to, said }) =>
    say`${by} named ${to} ${said('name')} for the administration API, with the owner ${said('owner')}`,
  'service.secret_issued': ({ by, to }) => say`${by} gave service ${to} another secret`,
  'service.revoked': ({ by, to }) => say`${by} revoked the credential of service ${to}`,
  'provider.drafted': ({ by, to, said, pairs }) =>
    say`${by} set up identity provider ${to} for ${kindOf(said)}, not enabled yet: ${said('issuer')}${handedOut({ said, pairs })}`,
  'provider.added': ({ by, to, said, pairs }) =>
    say`${by} added identity provider ${to} for ${kindOf(said)}: ${said('issuer')}${handedOut({ said, pairs })}`,
  'provider.changed': ({ by, to, said, pairs }) =>
    say`${by} changed identity provider ${to} (${said('changed')}): ${said('issuer')}${handedOut({ said, pairs })}`,
  'provider.credential_replaced': ({ by, to, said }) =>
    say`${by} gave identity provider ${to} a new credential (${said('proof')})`,
  'provider.removed': ({ by, to }) => say`${by} removed identity provider ${to}`,
  'identity.linked': ({ by, to, said }) => say`${by} linked ${to} to their identity at ${said('provider')}`,
  'identity.unlinked': ({ by, to, said }) =>
    say`${by} unlinked ${to} from their identity at ${said('provider')}`,
  'identity.unknown': ({ to, said }) =>
    say`Somebody whom ${to} vouched for is not known here: ${said('why')}`,
  'identity.refused': ({ to, said }) => say`A sign-in at ${to} was refused: ${said('why')}`,
  'authorization.approved': ({ by, to, said }) => say`${by} allowed ${to} access: ${said('scopes')}`,
  'authorization.denied': ({ by, to }) => say`${by} denied ${to} access`,
  'authorization.revoked': ({ by, to, user }) =>
    by.id === user.id
      ? say`${by} ended the access of ${to}`
      : say`${by} ended the access of ${to} to ${user}`,
  'authorization.narrowed': ({ by, to, user, said }) =>
    say`${by} took account ${said('accountNumbers')} from what ${to} may use of ${user}`,
  'authorization.paused': ({ by, to }) => say`${by} paused ${to}`,
  'authorization.resumed': ({ by, to }) => say`${by} resumed ${to}`,
  'code.exchanged': ({ by, to }) => say`${by} got access to ${to}`,
  'code.replayed': ({ by }) => say`${by} presented a code a second time: its access was ended`,
  'code.presented_by_other_client': ({ by }) => say`${by} presented a code of another client`,
  'token.refreshed': ({ by, to }) => say`${by} renewed its access to ${to}`,
  'token.rotated': ({ by, to }) => say`${by} renewed its access to ${to}, with a new refresh token`,
  'token.reuse_detected': ({ by }) => say`${by} presented an old refresh token: its access was ended`,
  'token.revoked': ({ by, to }) => say`${by} ended its own access to ${to}`,
  'webhook.created': ({ by, to, said }) => say`${by} registered ${to}: ${said('url')}`,
  'webhook.updated': ({ by, to }) => say`${by} changed ${to}`,
  'webhook.deleted': ({ by, to }) => say`${by} deleted ${to}`,
  'webhook.paused': ({ by, to }) => say`${by} paused ${to}`,
  'webhook.resumed': ({ by, to }) => say`${by} resumed ${to}`,
  'webhook.disabled': ({ by, to, said }) => say`${by} disabled ${to}: ${said('reason')}`,
  'webhook.expired': ({ to, count }) =>
    say`${count('deliveries', 'delivery', 'deliveries')} of ${to} became too old to be sent`,
  'webhook.secret_rotated': ({ by, to }) => say`${by} rotated the secret of ${to}`,
  'webhook.redelivered': ({ by, to, said }) => say`${by} sent delivery ${said('deliveryId')} of ${to} again`,
  'webhook.replayed': ({ by, to, count }) =>
    say`${by} replayed ${count('total', 'delivery', 'deliveries')} of ${to}`,
  'webhook.replay_canceled': ({ by, to }) => say`${by} canceled a replay of ${to}`,
  'webhook.probed': ({ by, to }) => say`${by} probed ${to}`,
  'webhook.recovered': ({ by, to, count }) =>
    say`${by} recovered ${to}: ${count('total', 'delivery', 'deliveries')} sent again`,
  'webhook.delivery_skipped': ({ by, to, said }) =>
    say`${by} skipped delivery ${said('deliveryId')} of ${to}: ${said('reason')}`,
  'webhook.skipped': ({ by, to, said }) => say`${by} skipped all that waited for ${to}: ${said('reason')}`,
  'alert.address_added': ({ by, said }) => say`${by} added ${said('host')} as an address for alerts`,
  'alert.address_confirmed': ({ by, to }) => say`${by} confirmed ${to}`,
  'alert.address_removed': ({ by, said }) => say`${by} removed ${said('host')} as an address for alerts`,
  'alert.code_sent': ({ by, to }) => say`${by} had a new code sent to ${to}`,
  'alert.tested': ({ by, to }) => say`${by} had a test sent to ${to}`,
  'alert.changed': ({ by, to, said }) =>
    say`${by} changed what ${to} tells of: ${said('what')}, after ${said('waitMinutes')} minutes`,
  'provisioning.linked': ({ by, to, said }) =>
    say`${by} said that ${to} is ${said('externalId')} of ${said('source')}`,
  'source.created': ({ by, to }) => say`${by} named ${to}`,
  'source.role_allowed': ({ by, to, said }) => say`${by} let database role ${said('role')} speak for ${to}`,
  'source.role_withdrawn': ({ by, to, said }) =>
    say`${by} let database role ${said('role')} no longer speak for ${to}`,
  'provisioning.applied': ({ by, to, said }) =>
    say`${by} provisioned ${to}: ${said('outcome')}${said('fields') === '–' ? '' : ` (${said('fields')})`}, version ${said('version')}`,
  'provisioning.merged': ({ by, to, said }) =>
    say`${by} provisioned ${to}: ${said('created')} created, ${said('changed')} changed, ${said('removed')} removed`,
  'import.started': ({ by, to, said }) => say`${by} started ${to} from ${said('source')}`,
  'import.finished': ({ to, said }) =>
    say`${to} finished: ${said('created')} created, ${said('changed')} changed, ${said('removed')} removed, ${said('failed')} failed`,
  'import.allowed': ({ by, to, said }) => say`${by} allowed ${to} to remove ${said('missing')} records`,
  'import.stopped': ({ by, to, said }) =>
    said('newer') === '–'
      ? say`${by} stopped ${to}`
      : say`${by} stopped ${to}: import ${said('newer')}, a newer snapshot, has begun`,
  'keys.rotated': ({ by, count }) =>
    say`${by} rotated the sealing keys: ${count('resealed', 'secret')} sealed anew`,
  'keys.pruned': ({ by }) => say`${by} removed the older sealing keys`,
  'proposal.made': ({ by, to, said }) => say`${by} proposed to ${proposed(said)} ${to}`,
  'proposal.approved': ({ by, to, said }) => say`${by} approved the proposal to ${proposed(said)} ${to}`,
  'proposal.declined': ({ by, to, said }) => say`${by} declined the proposal to ${proposed(said)} ${to}`,
  'proposal.withdrawn': ({ by, to, said }) => say`${by} withdrew the proposal to ${proposed(said)} ${to}`,
  'proposal.outdated': ({ by, to, said }) =>
    say`${by} wanted to approve the proposal to ${proposed(said)} ${to}, but something had changed since it was made`,
  'proposal.bypassed': ({ by, to, said }) =>
    say`${by} did on the command line what takes two people: ${proposed(said)} ${to}`,
  'audit.verified': ({ by, said }) =>
    say`${by} verified the audit log: ${said('intact') === 'true' ? 'intact' : 'broken'}`,
  'list.exported': ({ by, said }) => say`${by} exported the list of ${said('list')}`,
  'audit.exported': ({ by, said }) => say`${by} exported entries of the audit log as ${said('format')}`,
}

function kindOf(said: Act['said']): string {
  return said('kind') === 'staff' ? 'staff' : 'holders'
}

function atProvider(said: Act['said']): string {
  return said('provider') === '–' ? '' : ` at ${said('provider')}`
}

function fromSite(said: Act['said']): string {
  return said('from') === '–' ? '' : `, from ${said('from')}`
}

function withFactor(said: Act['said']): string {
  return said('secondFactor') === '–' ? '' : `, with ${said('secondFactor')}`
}

function refusedAt(said: Act['said']): string {
  if (said('at') === 'second step') return 'second step at the sign-in'
  return said('at') === 'password change' ? 'password change' : 'sign-in'
}

/** Roles by a map, or customers by a claim. */
function handedOut({ said, pairs }: Pick<Act, 'said' | 'pairs'>): string {
  if (said('rolesClaim') !== '–') return `, with roles by ${said('rolesClaim')} (${pairs('roleMap')})`
  return said('linkClaim') === '–' ? '' : `, with customers of ${said('linkSource')} by ${said('linkClaim')}`
}

/** An action that a release of tomorrow wrote is told as it stands. */
export function tell(entry: EntryFacts): Sentence {
  const { actor, action, subject, details } = entry
  const by = { id: actor }
  const to = { id: subject }
  const known = Object.hasOwn(words, action) ? words[action] : undefined
  if (!known) return say`${by}: ${action} ${to}`
  const user = typeof details.userId === 'string' ? { id: `user:${details.userId}` } : to
  return known({
    by,
    to,
    user,
    isOwn: actor === subject,
    said: (name) => print(details[name]),
    pairs: (name) => printPairs(details[name]),
    count: counter(details),
  })
}

function print(value: unknown): string {
  if (Array.isArray(value)) return value.length > 0 ? value.join(' ') : 'none'
  return value === undefined || value === null || typeof value === 'object' ? '–' : String(value)
}

function printPairs(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '–'
  const pairs = Object.entries(value).map(([name, each]) => `${name}: ${print(each)}`)
  return pairs.join(', ') || 'none'
}

function counter(details: EntryFacts['details']): Act['count'] {
  return (name, one, many = `${one}s`) => {
    const number = Number(details[name])
    return Number.isFinite(number) ? `${number.toLocaleString('en')} ${number === 1 ? one : many}` : many
  }
}

const somebody = { id: 'user:somebody' }
const another = { id: 'user:another' }

/** Every action, as its sentence tells it without names: done to oneself, and to another. */
const plainWords: ReadonlyMap<AuditAction, string> = new Map(
  (Object.keys(words) as AuditAction[]).map((action) => {
    const plain = [somebody, another].map(({ id: subject }) =>
      tell({ actor: somebody.id, action, subject, details: {} })
        .filter((part) => typeof part === 'string')
        .join(' '),
    )
    return [action, [...new Set(plain)].join(' / ')]
  }),
)

/** Each with its words. */
export function listActions(): readonly (readonly [AuditAction, string])[] {
  return [...plainWords]
}

/**
 * The actions that a person means: by name (`client.created`), by its first half (`client`), or by words of
 * its sentence (`locked`).
 */
export function findActions(typed: string): AuditAction[] {
  const sought = typed.toLowerCase().replace(/\.$/, '')
  const all = [...plainWords.keys()]
  const named = all.filter((action) => action === sought || action.startsWith(`${sought}.`))
  if (named.length > 0) return named
  const parts = sought.split(/[^\p{L}\p{N}-]+/u).filter((part) => part !== '')
  const wordsOf = (action: AuditAction) =>
    ` ${plainWords
      .get(action)!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}-]+/gu, ' ')}`
  return parts.length === 0
    ? []
    : all.filter((action) => parts.every((part) => wordsOf(action).includes(` ${part}`)))
}

/** Everything that the sentences of these entries name. */
export function referencesOf(entries: readonly EntryFacts[]): string[] {
  const named = entries.flatMap((entry) =>
    tell(entry).flatMap((part) => (typeof part === 'string' ? [] : [part.id])),
  )
  return [...new Set(named)]
}
