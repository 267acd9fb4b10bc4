/**
 * `DEMO_IDP=true`: beside the demo data runs an identity provider, at which the demo's holder signs in. It is
 * registered anew at each start, with a new secret.
 */
import type { Act } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import { linkByHand } from '../identity/identity.ts'
import { addProvider, findProvider, removeProvider } from '../identity/provider.ts'
import type { ProviderDraft } from '../identity/provider-draft.ts'
import { getUserNamed } from '../users/user.ts'
import type { Demo, DemoHouse } from './demo.ts'
import { openDemoProvider, secondFactorAcr } from './demo-provider.ts'

const name = 'demo'
const host = '127.0.0.1'

interface DemoIdp {
  readonly told: string
  close(): Promise<void>
}

export async function openDemoIdp(
  { baseUrl, sandboxUrl, internalUrl, context }: DemoHouse,
  { username }: Demo,
): Promise<DemoIdp> {
  const secret = randomLetters(32)
  const sites = [baseUrl, sandboxUrl]
  const client = {
    ...{ client_id: 'countersign', client_secret: secret, require_auth_time: true },
    redirect_uris: sites.map((site) => `${site}/login/from/${name}`),
    post_logout_redirect_uris: sites.map((site) => `${site}/login/signed-out`),
    ...{
      backchannel_logout_uri: `${baseUrl}/logout/from/${name}`,
      backchannel_logout_session_required: true,
    },
  }
  const isAnywhere = context.config.internal.port === 0
  const port = isAnywhere ? 0 : Number(new URL(internalUrl).port) + 1
  const people = { [username]: {}, stranger: {} }
  const { issuer, close } = await openDemoProvider({ port, host, people, clients: [client] })
  await register({ context }, issuer, secret, username)
  return { told: tell(issuer, baseUrl, username), close }
}

async function register(
  { context }: Pick<DemoHouse, 'context'>,
  issuer: string,
  credential: string,
  username: string,
) {
  const { db, vault, clock } = context
  const act: Act = { by: { name: 'operator:demo' }, at: clock.now() }
  const before = await findProvider(db, name)
  if (before) await removeProvider(db, before, act)
  const draft: ProviderDraft = {
    ...{ name, kind: 'holder', label: 'Demo Bank ID', issuer, clientId: 'countersign', credential },
    ...{ proof: 'client_secret_basic', scopes: ['openid'], linkClaim: null, linkSource: 'core' },
    ...{
      strongAcr: [secondFactorAcr],
      strongAmr: [],
      ownSecondStep: true,
      rolesClaim: null,
      roleMap: {},
      logoutEnds: 'session',
    },
  }
  const provider = await addProvider(db, vault, draft, { allowLoopback: true }, act)
  await linkByHand(db, provider, username, await getUserNamed(db, username), act)
}

function tell(issuer: string, baseUrl: string, username: string): string {
  return `  5. Sign in at the demo's own identity provider, ${issuer}: open ${baseUrl}/login, continue with Demo Bank ID
     and sign in there as ${username}. What trades asks for its second factor; “stranger” shows what somebody sees who is no customer.

`
}
