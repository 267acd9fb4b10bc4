/**
 * What the test button says: a provider is asked what a sign-in would ask it, and each answer is told with
 * its remedy. No user signs in.
 */
import { type Clock, second } from '../clock.ts'
import { findUnreachable } from '../network/guarded-fetch.ts'
import { messageOf } from '../text/thrown.ts'
import type { DiscoveryResult } from './discovery.ts'
import { type Provider, type ProviderFacts, vouches } from './provider.ts'
import type { ProviderDraft } from './provider-draft.ts'
import { providerClock } from './provider-look.ts'
import type { AnyUpstream, Upstreams } from './upstream.ts'

export interface ProviderFinding {
  readonly check: string
  readonly state: 'good' | 'warning' | 'wrong'
  readonly told: string
}

const finding = (check: string, state: ProviderFinding['state'], told: string): ProviderFinding => ({
  check,
  state,
  told,
})

export function testProvider(
  upstreams: Upstreams,
  clock: Clock,
  provider: Provider,
): Promise<ProviderFinding[]> {
  return judgeAnswers(clock, provider, provider.aheadMs, () => upstreams.ask(provider))
}

/** Before it is written down. */
export function testDraft(
  upstreams: Upstreams,
  clock: Clock,
  draft: ProviderDraft,
): Promise<ProviderFinding[]> {
  return judgeAnswers(clock, draft, null, () => upstreams.askDraft(draft))
}

async function judgeAnswers(
  clock: Clock,
  provider: ProviderFacts,
  aheadMs: number | null,
  askIt: () => Promise<DiscoveryResult & { upstream: AnyUpstream }>,
): Promise<ProviderFinding[]> {
  try {
    const { upstream, unusable, date } = await askIt()
    const findings = [
      finding('Metadata', 'good', `${provider.issuer} answers, and calls itself that.`),
      ...unusable.map((name) => finding(name, 'warning', 'It is no https address, and is left out.')),
      await testKeys(upstream),
      judgeClock(aheadMs, clock.now(), date),
      await testCredential(upstream),
    ]
    return [...findings, ...judge(upstream, provider)]
  } catch (error) {
    return [finding('Metadata', 'wrong', messageOf(error))]
  }
}

async function testKeys(upstream: AnyUpstream): Promise<ProviderFinding> {
  try {
    const { keys } = await upstream.keys()
    return finding('Keys', 'good', `${keys.length} of its keys can sign.`)
  } catch (error) {
    return finding('Keys', 'wrong', `Its keys cannot be read: ${messageOf(error)}`)
  }
}

/** By its answer, or else by the last token that it issued. */
function judgeClock(lastMs: number | null, now: Date, date: Date | undefined): ProviderFinding {
  const aheadMs = date ? now.getTime() - date.getTime() : lastMs
  if (aheadMs === null)
    return finding('Clock', 'warning', 'It does not say what time it is there. The first sign-in will tell.')
  const seconds = Math.round(Math.abs(aheadMs) / second)
  const { warnMs, failMs } = providerClock
  if (Math.abs(aheadMs) < warnMs) return finding('Clock', 'good', 'It keeps the same time.')
  const told = `This machine is ${seconds} seconds ${aheadMs < 0 ? 'behind' : 'ahead of'} it. ID tokens of another time are refused: let both keep time.`
  return finding('Clock', Math.abs(aheadMs) < failMs ? 'warning' : 'wrong', told)
}

/**
 * A code that was never issued: a client that the provider knows is told that the code is wrong, any other
 * that it is not known.
 */
async function testCredential({ library, configuration }: AnyUpstream): Promise<ProviderFinding> {
  const parameters = {
    code: 'countersign-test',
    redirect_uri: 'https://countersign.invalid/',
    code_verifier: 'x'.repeat(43),
  }
  try {
    await library.genericGrantRequest(configuration, 'authorization_code', parameters)
    return finding('Client', 'wrong', 'It took a code that nobody issued. Do not use this provider.')
  } catch (error) {
    if (findUnreachable(error)) return finding('Client', 'wrong', messageOf(error))
    const { error: code, status } = error instanceof library.ResponseBodyError ? error : {}
    if (code === 'invalid_grant') return finding('Client', 'good', 'It knows this client and its credential.')
    // Whatever the word: 401 is for a client that did not prove who it is (RFC 6749, 5.2), and Keycloak calls
    // a wrong secret `unauthorized_client`.
    if (code === 'invalid_client' || status === 401 || error instanceof library.WWWAuthenticateChallengeError)
      return finding(
        'Client',
        'wrong',
        'It does not accept the client id with this credential. Check both, and how they are sent.',
      )
    if (code === 'unauthorized_client')
      return finding(
        'Client',
        'wrong',
        'It does not let this client exchange a code: allow it the code flow there.',
      )
    return finding(
      'Client',
      'warning',
      `It does not say whether the credential is right (${code ?? messageOf(error)}).`,
    )
  }
}

function judge({ metadata }: AnyUpstream, provider: ProviderFacts): ProviderFinding[] {
  const { code_challenge_methods_supported: challenges = [], acr_values_supported: levels } = metadata
  const unknown = levels ? provider.strongAcr.filter((each) => !levels.includes(each)) : []
  return [
    challenges.includes('S256')
      ? finding('PKCE', 'good', 'It checks the code challenge (S256).')
      : finding(
          'PKCE',
          'warning',
          'It does not say that it checks the code challenge. The nonce still ties a code to its browser.',
        ),
    metadata.authorization_response_iss_parameter_supported
      ? finding('Issuer in answers', 'good', 'Its answers say who they are from.')
      : finding(
          'Issuer in answers',
          'warning',
          'Its answers do not say who they are from. Each provider has an address of its own here, which keeps them apart.',
        ),
    metadata.end_session_endpoint !== undefined
      ? finding('Sign-out', 'good', 'Whoever signs out here is led to sign out there.')
      : finding(
          'Sign-out',
          'warning',
          'It has no address for signing out: whoever signs out here stays signed in there.',
        ),
    judgeLogout(metadata, provider),
    judgeStrength(provider, unknown),
  ]
}

/** An issuer of Keycloak names its realm. */
const isKeycloak = ({ issuer }: ProviderFacts) => /\/realms\/[^/]+$/.test(issuer)

function judgeLogout(
  { backchannel_logout_supported: sends }: AnyUpstream['metadata'],
  provider: ProviderFacts,
): ProviderFinding {
  const check = 'Sign-out from there'
  if (!sends)
    return finding(
      check,
      'warning',
      'It does not say that it sends logout tokens: whoever signs out there stays signed in here.',
    )
  if (provider.logoutEnds === 'person')
    return finding(check, 'good', 'A logout token ends all sessions that the person has from there.')
  const told = 'A logout token ends the session that it names.'
  if (!isKeycloak(provider)) return finding(check, 'good', told)
  const remedy = 'countersign provider change --logout-ends person, or the provider’s page'
  return finding(
    check,
    'warning',
    `${told} Keycloak’s “log out all” names one session and means all of that person’s: for that, let a token end all of them (${remedy}).`,
  )
}

function judgeStrength(provider: ProviderFacts, unknown: readonly string[]): ProviderFinding {
  if (unknown.length > 0)
    return finding(
      'Second factor',
      'wrong',
      `It does not know the acr ${unknown.join(', ')}. Its acr_values_supported lists those it does.`,
    )
  if (vouches(provider))
    return finding('Second factor', 'good', 'It is asked for, and believed only where it comes back.')
  const told = provider.ownSecondStep ? 'a second step of this gateway stands in' : 'nothing stands in'
  return finding('Second factor', 'warning', `No acr or amr is named that means one: ${told}.`)
}
