/** Audit entries in the words of the account holder whom they concern. */
import type { AuditAction } from '../../audit/action.ts'
import type { AuditEntry } from '../../audit/audit.ts'
import { tell } from '../../audit/sentence.ts'
import { deviceWords } from '../../vocabulary/device-words.ts'
import { type Scope, scopes } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import type { HistoryNames } from './history-names.ts'

interface HistoryWords {
  readonly title: string
  readonly text?: string | undefined
  /** Worth a second look: it may have been another person. */
  readonly alarming?: true
}

type Words = (entry: AuditEntry, client: string) => HistoryWords

const device: (entry: AuditEntry) => string | undefined = ({ details }) =>
  typeof details.userAgent === 'string' ? deviceWords(details.userAgent) : undefined

const words: Partial<Record<AuditAction, Words>> = {
  'user.created': () => ({ title: 'The brokerage opened your access' }),
  'user.disabled': () => ({ title: 'The brokerage locked your access' }),
  'user.disabled_by_source': () => ({ title: 'The brokerage locked your access' }),
  'user.enabled_by_source': () => ({ title: 'The brokerage unlocked your access' }),
  'user.enabled': () => ({ title: 'The brokerage unlocked your access' }),
  'user.removed': () => ({ title: 'The brokerage removed you as a customer' }),
  'user.renamed': ({ details }) => ({ title: `The brokerage changed your user name to ${details.to}` }),
  'user.named': ({ details }) => ({ title: `${details.provider} told your name: ${details.name}` }),
  'user.account_added': ({ details }) => ({ title: `Account ${details.account_number} was added` }),
  'user.holding_set': ({ details }) => ({
    title: `You became ${details.role} of account ${details.account_number}`,
  }),
  'user.holding_removed': ({ details }) => ({
    title: `You no longer hold account ${details.account_number}`,
  }),
  'user.password_changed': (entry) => ({
    title: isOwn(entry) ? 'You changed your password' : 'The brokerage set a new password for you',
  }),
  'user.email_changed': (entry) => ({
    title: isOwn(entry) ? 'You changed your e-mail address' : 'The brokerage changed your e-mail address',
  }),
  'user.reset_sent': () => ({ title: 'A link for a new password was sent to you' }),
  'user.notices_chosen': () => ({ title: 'Chose which e-mail notices come' }),
  'session.opened': (entry) => ({ title: 'Signed in', text: signedInWith(entry) }),
  'session.confirmed': (entry) => ({ title: 'Confirmed that it was you', text: signedInWith(entry) }),
  'session.refused': (entry) => ({ title: refusedAt(entry), alarming: true }),
  'session.throttled': (entry) => ({
    title: refusedAt(entry),
    text: 'There were several in a row, so further attempts had to wait.',
    alarming: true,
  }),
  'session.closed': (entry) => {
    const other = device(entry)
    if (!isOwn(entry)) return { title: 'The brokerage signed out one of your devices', text: other }
    return { title: other === undefined ? 'Signed out' : 'Signed out another device', text: other }
  },
  'session.others_closed': ({ details }) => ({
    title: 'Signed out everywhere else',
    text: details.sessions === 1 ? 'One other sign-in ended.' : `${details.sessions} other sign-ins ended.`,
  }),
  'session.all_closed': () => ({ title: 'The brokerage signed you out everywhere' }),
  'session.wait_lifted': () => ({ title: 'The brokerage let you sign in again without waiting' }),
  'second_factor.added': ({ details }) => ({ title: `Set up two-factor sign-in: ${details.factor}` }),
  'second_factor.removed': ({ details }) => ({ title: `Removed from two-factor sign-in: ${details.factor}` }),
  'second_factor.reset': () => ({ title: 'The brokerage reset your two-factor sign-in', alarming: true }),
  'second_factor.locked': () => ({
    title: 'Your authenticator app was locked after a hundred wrong codes',
    text: 'Somebody knew your password and guessed codes. A recovery code unlocks the app; then change your password.',
    alarming: true,
  }),
  'recovery_codes.made': () => ({ title: 'Made new recovery codes' }),
  'api_token.created': ({ details }) => ({
    title: `Made the API token “${details.name}”`,
    text: listScopes(details.scopes),
  }),
  'api_token.revoked': (entry) => ({
    title: isOwn(entry) ? 'Revoked an API token' : 'The brokerage revoked one of your API tokens',
  }),
  'authorization.approved': ({ details }, client) => ({
    title: `Allowed ${client} to use your account`,
    text: listApproved(details),
  }),
  'authorization.denied': (_entry, client) => ({ title: `Denied ${client} access` }),
  'authorization.revoked': (entry, client) => ({
    title: isOwn(entry) ? `Revoked the access of ${client}` : `The brokerage ended the access of ${client}`,
  }),
  'authorization.narrowed': ({ details }, client) => ({
    title: `${client} can no longer use some of your accounts`,
    text: `${details.accountNumbers}: ${details.reason}`,
  }),
  'authorization.paused': (_entry, client) => ({ title: `Paused ${client}` }),
  'authorization.resumed': (_entry, client) => ({ title: `Resumed ${client}` }),
  'token.revoked': () => ({ title: 'An application ended its own access' }),
}

/** For one reader: an operator's acts are told to the holder, and to the operator as done to another user. */
export function historyWords(entry: AuditEntry, names: HistoryNames, readerId: string): HistoryWords {
  const about = aboutWhom(entry)
  if (about.startsWith('user:') && about !== `user:${readerId}`) return { title: printPlainly(entry, names) }
  return words[entry.action]?.(entry, names(entry.subject)) ?? { title: printPlainly(entry, names) }
}

function aboutWhom({ details, subject }: AuditEntry): string {
  return typeof details.userId === 'string' ? `user:${details.userId}` : subject
}

function isOwn(entry: AuditEntry): boolean {
  return entry.actor === aboutWhom(entry)
}

function signedInWith(entry: AuditEntry): string | undefined {
  const { secondFactor, proof } = entry.details
  const words = device(entry)
  if (proof === 'passkey') return `${words}, with a passkey alone`
  return typeof secondFactor === 'string' ? `${words}, with ${secondFactor}` : words
}

function refusedAt({ details }: AuditEntry): string {
  if (details.at === 'second step') return 'A sign-in was refused at the second step: the password was right'
  if (details.at === 'passkey') return 'A sign-in with a passkey was refused'
  return details.at === 'password change' ? 'A password change was refused' : 'A sign-in was refused'
}

function listScopes(granted: unknown): string | undefined {
  if (!Array.isArray(granted)) return undefined
  const titles = scopes
    .filter((scope: Scope) => granted.includes(scope))
    .map((scope) => scopeWords[scope].title)
  return titles.join(' · ')
}

function listApproved({ scopes: granted, accountNumbers }: AuditEntry['details']): string | undefined {
  const titles = listScopes(granted)
  if (titles === undefined || !Array.isArray(accountNumbers) || accountNumbers.length === 0) return titles
  return `${titles} · in ${accountNumbers.length === 1 ? 'account' : 'accounts'} ${accountNumbers.join(', ')}`
}

/**
 * Acts that are no everyday ones of account holders, such as those of a partner's member or of an operator,
 * in the words of the log.
 */
function printPlainly(entry: AuditEntry, names: HistoryNames): string {
  const text = tell(entry)
    .map((part) => (typeof part === 'string' ? part : names(part.id)))
    .join('')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
