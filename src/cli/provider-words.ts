/** The words of the commands that set up a provider: options, and what they say. */

import type { ProviderChange } from '../identity/provider-change.ts'
import {
  logoutReaches,
  type ProviderCredential,
  type ProviderDraft,
  providerKinds,
  providerProofs,
} from '../identity/provider-draft.ts'
import type { StaffRole } from '../vocabulary/permission.ts'
import { type CommandWords, type Option, UsageError } from './command.ts'
import { secretOption, takeSecret } from './secret-file.ts'

export const credentialOptions: readonly Option[] = [
  secretOption('secret', 'a file with the client secret'),
  { name: 'secret-in-body', meaning: 'sends the secret in the body instead of the header' },
  secretOption('key', 'a file with a private key in PEM instead of a secret (private_key_jwt)'),
]

const logoutOption: Option = {
  name: 'logout-ends',
  value: 'session|person',
  meaning:
    'what a logout token ends: the session that it names (unless given), or all that the person has from there',
}

/** How it is set up: what may be changed later, too. */
export const settingOptions: readonly Option[] = [
  { name: 'scope', value: 'WORD', multiple: true, meaning: 'asked for beside openid' },
  { name: 'link-claim', value: 'NAME', meaning: "the claim that equals a customer's external id" },
  { name: 'link-source', value: 'NAME', meaning: 'the source of that id; core unless given' },
  {
    name: 'strong-acr',
    value: 'VALUE',
    multiple: true,
    meaning: 'an acr that means a second factor was given',
  },
  { name: 'strong-amr', value: 'VALUE', multiple: true, meaning: 'an amr that means the same, such as mfa' },
  { name: 'no-own-second-step', meaning: 'a second factor of this gateway does not stand in' },
  { name: 'roles-claim', value: 'NAME', meaning: 'staff: the claim with groups or app roles' },
  { name: 'role', value: 'VALUE=ROLE', multiple: true, meaning: 'staff: which of its values is which role' },
  logoutOption,
]

export function draftOf(words: CommandWords): ProviderDraft {
  const kind = providerKinds.find((each) => each === words.get('kind'))
  if (!kind) throw new UsageError('--kind must be holder or staff.')
  return {
    name: words.positional('name'),
    kind,
    label: words.get('label'),
    issuer: words.get('issuer'),
    clientId: words.get('client-id'),
    ...credentialOf(words),
    scopes: [...new Set(['openid', ...words.all('scope')])],
    linkClaim: words.find('link-claim') ?? null,
    linkSource: words.find('link-source') ?? 'core',
    strongAcr: words.all('strong-acr'),
    strongAmr: words.all('strong-amr'),
    ownSecondStep: !words.has('no-own-second-step'),
    rolesClaim: words.find('roles-claim') ?? null,
    roleMap: roleMapOf(words.all('role')),
    logoutEnds: logoutEndsOf(words) ?? 'session',
  }
}

/**
 * What was said, and nothing else: a list is the whole of it, and an empty word takes a claim or a list away.
 */
export function changeOf(words: CommandWords): ProviderChange {
  const lists = {
    scopes: words.all('scope'),
    strongAcr: words.all('strong-acr'),
    strongAmr: words.all('strong-amr'),
  }
  const scopes = {
    ...lists,
    scopes: lists.scopes.length > 0 ? [...new Set(['openid', ...lists.scopes])] : [],
  }
  const given = Object.entries(scopes).filter(([, all]) => all.length > 0)
  const said = (name: string) => words.find(name)
  const claim = (name: string) => (said(name) === undefined ? undefined : said(name) || null)
  const roles = words.all('role')
  if (words.has('own-second-step') && words.has('no-own-second-step'))
    throw new UsageError('Say either --own-second-step or --no-own-second-step.')
  const step = words.has('own-second-step') ? true : words.has('no-own-second-step') ? false : undefined
  const all = {
    ...{ label: said('label'), clientId: said('client-id'), linkClaim: claim('link-claim') },
    ...{ linkSource: said('link-source'), rolesClaim: claim('roles-claim'), logoutEnds: logoutEndsOf(words) },
    ...{
      ownSecondStep: step,
      roleMap: roles.length > 0 ? roleMapOf(roles.filter((each) => each !== '')) : undefined,
    },
    ...Object.fromEntries(given.map(([name, list]) => [name, list.filter((each) => each !== '')])),
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function logoutEndsOf(words: CommandWords): ProviderDraft['logoutEnds'] | undefined {
  const said = words.find('logout-ends')
  const reach = logoutReaches.find((each) => each === said)
  if (said !== undefined && !reach) throw new UsageError('--logout-ends must be session or person.')
  return reach
}

export function credentialOf(words: CommandWords): ProviderCredential {
  const secret = takeSecret(words, 'secret')
  const key = takeSecret(words, 'key')
  const credential = secret ?? key
  if (credential === undefined || (secret !== undefined && key !== undefined))
    throw new UsageError('Say either --secret-file or --key-file.')
  if (key !== undefined && words.has('secret-in-body'))
    throw new UsageError(
      '--secret-in-body is for a secret, and a key is sent in one way: leave it out with --key-file.',
    )
  const [basic, inBody, privateKey] = providerProofs
  return {
    proof: key !== undefined ? privateKey : words.has('secret-in-body') ? inBody : basic,
    credential,
  }
}

function roleMapOf(pairs: readonly string[]): Record<string, StaffRole> {
  const split = pairs.map((pair) => pair.split(/=(?=[^=]*$)/) as [string, string])
  if (split.some((pair) => pair.length !== 2)) throw new UsageError('--role must be VALUE=ROLE.')
  // The draft is judged with every other fault of it.
  return Object.fromEntries(split) as Record<string, StaffRole>
}
