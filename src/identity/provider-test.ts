/** What the test button says: a provider is asked what a sign-in would ask it, and each answer is told with its remedy. Nobody signs in. */
import { findUnreachable } from './guarded-fetch.ts'
import { type Provider, vouches } from './provider.ts'
import type { Upstream, Upstreams } from './upstream.ts'

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

export async function testProvider(upstreams: Upstreams, provider: Provider): Promise<ProviderFinding[]> {
  try {
    // Looked at now, whenever it was seen last.
    const upstream = await upstreams.open({ ...provider, awaySince: null, lookedAt: null }, { mayBeAway: false })
    const discovered = finding('Metadata', 'good', `${provider.issuer} answers, and calls itself that.`)
    return [discovered, await testKeys(upstream), await testCredential(upstream), ...judge(upstream)]
  } catch (error) {
    return [finding('Metadata', 'wrong', (error as Error).message)]
  }
}

async function testKeys(upstream: Upstream): Promise<ProviderFinding> {
  try {
    const { keys } = await upstream.keys()
    const usable = keys.filter(({ kty, use }) => kty !== 'oct' && use !== 'enc')
    if (usable.length === 0) return finding('Keys', 'wrong', 'It has no key that signs.')
    return finding('Keys', 'good', `${usable.length} of its keys can sign.`)
  } catch (error) {
    return finding('Keys', 'wrong', `Its keys cannot be read: ${(error as Error).message}.`)
  }
}

/** A code that nobody issued: whoever is known is told that the code is wrong, whoever is not is told so. */
async function testCredential({ library, configuration }: Upstream): Promise<ProviderFinding> {
  const parameters = {
    code: 'countersign-test',
    redirect_uri: 'https://countersign.invalid/',
    code_verifier: 'x'.repeat(43),
  }
  try {
    await library.genericGrantRequest(configuration, 'authorization_code', parameters)
    return finding('Client', 'wrong', 'It took a code that nobody issued. Do not use this provider.')
  } catch (error) {
    if (findUnreachable(error)) return finding('Client', 'wrong', (error as Error).message)
    const code = error instanceof library.ResponseBodyError ? error.error : undefined
    if (code === 'invalid_grant') return finding('Client', 'good', 'It knows this client and its credential.')
    if (code === 'invalid_client' || error instanceof library.WWWAuthenticateChallengeError)
      return finding(
        'Client',
        'wrong',
        'It does not accept the client id with this credential. Check both, and how they are sent.',
      )
    return finding(
      'Client',
      'warning',
      `It does not say whether the credential is right (${code ?? (error as Error).message}).`,
    )
  }
}

function judge({ metadata, provider }: Upstream): ProviderFinding[] {
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
    typeof metadata.end_session_endpoint === 'string'
      ? finding('Sign-out', 'good', 'Whoever signs out here is led to sign out there.')
      : finding(
          'Sign-out',
          'warning',
          'It has no address for signing out: whoever signs out here stays signed in there.',
        ),
    judgeStrength(provider, unknown),
  ]
}

function judgeStrength(provider: Provider, unknown: readonly string[]): ProviderFinding {
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
