/** What an operator says of a provider, and what is wrong with it. */
import { isLoopbackUrl } from '../network/loopback.ts'
import type { FieldProblem } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import { findStaffRole, type StaffRole, staffRoles } from '../vocabulary/permission.ts'
import { isSource } from '../vocabulary/source.ts'
import { importPrivateKey } from './private-key.ts'

export const providerKinds = ['holder', 'staff'] as const
/** What a logout token ends: the session that it names, or all that the person has from there. */
export const logoutReaches = ['session', 'person'] as const
export const providerProofs = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/** How the gateway shows a provider who it is. */
export interface ProviderCredential {
  readonly proof: (typeof providerProofs)[number]
  /** The secret, or a private key in PEM. */
  readonly credential: string
}

export interface ProviderDraft extends ProviderCredential {
  /** In the addresses that it sends people back to. */
  readonly name: string
  readonly kind: (typeof providerKinds)[number]
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** The claim that equals a customer's external id at this source. */
  readonly linkClaim: string | null
  readonly linkSource: string
  /** What it calls a sign-in with a second factor; where it says nothing, there is nothing. */
  readonly strongAcr: readonly string[]
  readonly strongAmr: readonly string[]
  /** Whether a second step of ours stands in. */
  readonly ownSecondStep: boolean
  readonly rolesClaim: string | null
  readonly roleMap: Readonly<Record<string, StaffRole>>
  readonly logoutEnds: (typeof logoutReaches)[number]
}

export async function findDraftProblems(
  draft: ProviderDraft,
  allowLoopback: boolean,
): Promise<FieldProblem[]> {
  return [...findFactsProblems(draft, allowLoopback), ...problemsIn([await checkCredential(draft)])]
}

/** The same, of all but its credential. */
export function findFactsProblems(
  facts: Omit<ProviderDraft, 'credential'>,
  allowLoopback: boolean,
): FieldProblem[] {
  return problemsIn([...checkNames(facts, allowLoopback), ...checkClaims(facts)])
}

export async function findCredentialProblems(given: ProviderCredential): Promise<FieldProblem[]> {
  return problemsIn([await checkCredential(given)])
}

function problemsIn(checks: readonly Check[]): FieldProblem[] {
  return checks.flatMap(([field, problem]) => (problem ? [{ field, problem }] : []))
}

type Check = readonly [field: string, problem: string | undefined | false]

type Facts = Omit<ProviderDraft, 'credential'>

function checkNames({ name, label, issuer, clientId, scopes }: Facts, allowLoopback: boolean): Check[] {
  return [
    ['name', !/^[a-z0-9][a-z0-9-]{0,39}$/.test(name) && 'must be 1 to 40 small letters, digits or hyphens'],
    ['name', name === 'new' && 'must be another word: this one is an address of the console'],
    ['label', findNameProblem(label, 100)],
    ['issuer', findIssuerProblem(issuer, allowLoopback)],
    [
      'client-id',
      !/^[\x21-\x7e]{1,500}$/.test(clientId) && 'must be the id that the provider gave to this gateway',
    ],
    ['scopes', !scopes.includes('openid') && 'must include openid'],
    ['scopes', !scopes.every((each) => /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(each)) && 'must be words'],
  ]
}

/** A user who changes one of these at the provider would be another user here. */
const changing = ['email', 'name', 'preferred_username', 'nickname', 'upn', 'unique_name', 'phone_number']

function checkClaims(draft: Facts): Check[] {
  const { kind, linkClaim, linkSource, rolesClaim, roleMap, strongAcr, strongAmr, ownSecondStep } = draft
  const noFactor = !ownSecondStep && strongAcr.length + strongAmr.length === 0
  const givesRoles = rolesClaim !== null || Object.keys(roleMap).length > 0
  return [
    [
      'link-claim',
      linkClaim !== null && !/^[\x21-\x7e]{1,100}$/.test(linkClaim) && 'must be the name of a claim',
    ],
    [
      'link-claim',
      changing.includes(linkClaim ?? '') && 'must not be an e-mail address or a name: they change hands',
    ],
    ['link-claim', kind === 'staff' && linkClaim !== null && 'is for holders: staff have no external id'],
    ['link-source', !isSource(linkSource) && 'must be the name of a source, such as core'],
    [
      'strong-acr',
      kind === 'staff' && noFactor && 'is missing: staff are asked for a second factor, there or here',
    ],
    [
      'strong-acr',
      kind === 'holder' &&
        noFactor &&
        'is missing: what trade and write take is a second factor, and nobody could ever prove one, there or here',
    ],
    [rolesClaim === null ? 'role' : 'roles-claim', kind === 'holder' && givesRoles && 'is for staff'],
    [
      'role',
      !Object.values(roleMap).every((role) => findStaffRole(role)) &&
        `must name roles that there are: ${staffRoles.join(', ')}`,
    ],
  ]
}

function findIssuerProblem(issuer: string, allowLoopback: boolean): string | undefined {
  if (!URL.canParse(issuer) || issuer.length > 500)
    return 'must be an address such as https://login.example.com'
  const { protocol, username, password } = new URL(issuer)
  if (username !== '' || password !== '' || /[?#]/.test(issuer))
    return 'must be an address without credentials, query and fragment'
  const isLocal = allowLoopback && isLoopbackUrl(issuer) && protocol === 'http:'
  return protocol === 'https:' || isLocal ? undefined : 'must begin with https://'
}

async function checkCredential({ proof, credential }: ProviderCredential): Promise<Check> {
  if (proof !== 'private_key_jwt') return ['secret', credential === '' && 'is missing']
  const isKey = (await importPrivateKey(credential)) !== undefined
  return [
    'key',
    !isKey && 'must be a private key in PEM (PKCS #8): RSA of 2048 bits or more, P-256 or Ed25519',
  ]
}
