/** The brokerage's identity provider for tests, as a process of its own, and people who sign in there. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { secondFactorAcr } from '../../src/demo/demo-provider.ts'
import { addProvider, draftProvider, type Provider } from '../../src/identity/provider.ts'
import type { ProviderDraft } from '../../src/identity/provider-draft.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from './ask.ts'
import { type Answer, Browser } from './browser.ts'
import type { TestGateway } from './gateway.ts'
import { makeUpWord } from './made-up-word.ts'
import type { Lie, Order } from './upstream-program.ts'

export const clientSecret = 'a secret that the provider gave to the gateway'

export interface TestUpstream {
  readonly issuer: string
  /** PEM, for what a test signs in its name. */
  readonly privateKey: string
  /** From now on, its time is that of the house. */
  keepTime(): Promise<void>
  lie(lie: Lie | undefined): Promise<void>
  leave(): Promise<void>
  return(): Promise<void>
  /**
   * Signs in there in a browser of its own, which is remembered: answers where the browser is sent back to.
   */
  signIn(at: string, who: string, given?: { factor?: boolean; cookies?: Browser }): Promise<string>
  close(): Promise<void>
}

interface UpstreamOptions {
  readonly name: string
  readonly people?: Record<string, Record<string, unknown>>
  readonly client?: Record<string, unknown>
  readonly host?: string
}

export async function openUpstream(house: TestGateway, options: UpstreamOptions): Promise<TestUpstream> {
  const { name, people = {}, client = {}, host = '127.0.0.1' } = options
  const child = fork(fileURLToPath(new URL('upstream-program.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const give = async <Reply>(order: Order): Promise<Reply> => {
    const answered = once(child, 'message')
    child.send(order)
    const [answer] = (await answered) as [Reply & { error?: string }]
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }
  const sites = [house.baseUrl, house.sandboxUrl]
  const clients = [
    {
      client_id: 'countersign',
      client_secret: clientSecret,
      redirect_uris: sites.map((site) => `${site}/login/from/${name}`),
      post_logout_redirect_uris: sites.map((site) => `${site}/login/signed-out`),
      backchannel_logout_uri: `${house.baseUrl}/logout/from/${name}`,
      backchannel_logout_session_required: true,
      require_auth_time: true,
      ...client,
    },
  ]
  const { issuer, privateKey } = await give<{ issuer: string; privateKey: string }>({
    order: 'open',
    options: { port: 0, host, people, clients },
  })
  const self: TestUpstream = {
    issuer,
    privateKey,
    keepTime: () => give({ order: 'time', aheadMs: house.clock.now().getTime() - Date.now() }),
    lie: (lie) => give({ order: 'lie', lie }),
    leave: () => give({ order: 'leave' }),
    return: () => give({ order: 'return' }),
    async signIn(at, who, { factor = false, cookies = new Browser(issuer) } = {}) {
      let answer = await cookies.get(at)
      for (let step = 0; step < 6; step++) {
        if (answer.location === undefined) throw new Error(`${answer.status} ${answer.text}`)
        const next = new URL(answer.location, issuer)
        if (next.origin !== issuer) return next.href
        answer = await cookies.get(next.href)
        if (answer.status === 200) {
          const fields = { who, ...(factor && { factor: 'yes' }) }
          answer = await cookies.post(next.href, fields)
        }
      }
      throw new Error('The provider leads in circles.')
    },
    async close() {
      child.disconnect()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
  await self.keepTime()
  return self
}

/** Registers it with the gateway, for holders unless told otherwise. */
export function registerUpstream(
  house: TestGateway,
  { issuer }: Pick<TestUpstream, 'issuer'>,
  name: string,
  draft: Partial<ProviderDraft> = {},
): Promise<Provider> {
  const { db, vault } = house.gateway.context
  return addProvider(db, vault, draftOf(issuer, name, draft), { allowLoopback: true }, house.act())
}

/** Written down, and not enabled: nobody signs in there. */
export function draftUpstream(house: TestGateway, draft: Partial<ProviderDraft> = {}): Promise<Provider> {
  const { db, vault } = house.gateway.context
  const name = draft.name ?? makeUpWord()
  const whole = draftOf(`https://127.0.0.1:9/${name}`, name, draft)
  return draftProvider(db, vault, whole, { allowLoopback: true }, house.act())
}

function draftOf(issuer: string, name: string, draft: Partial<ProviderDraft>): ProviderDraft {
  return {
    ...{ name, kind: 'holder', label: 'Example Bank ID', issuer, clientId: 'countersign' },
    ...{ proof: 'client_secret_basic', credential: clientSecret, scopes: ['openid'] },
    ...{ linkClaim: 'customer_id', linkSource: 'core', strongAcr: [secondFactorAcr], strongAmr: [] },
    ...{ ownSecondStep: true, rolesClaim: null, roleMap: {}, logoutEnds: 'session' },
    ...draft,
  }
}

/** From a page that asks for a sign-in to where it leads afterwards. */
export async function signInThere(
  browser: Browser,
  upstream: TestUpstream,
  who: string,
  { path = '/login', ...given }: { path?: string; factor?: boolean; cookies?: Browser } = {},
): Promise<Answer> {
  const page = await browser.get(path)
  // The sandbox lets choose: its test holders have passwords.
  const [, way] = /href="(\/login\/with\/[^"]+)"/.exec(page.text) ?? []
  const start = page.status === 200 && way ? await browser.get(way.replaceAll('&amp;', '&')) : page
  const at = start.location ?? /url=(.*)/.exec(String(start.headers.refresh))?.[1]
  if (at === undefined) throw new Error(`${path} leads nowhere: ${start.status} ${start.text}`)
  return browser.get(await upstream.signIn(at, who, given))
}

const insertSource = `INSERT INTO sources (name, environment, heard_at, newest_at) VALUES ('core', 'live', $1, $1) ON CONFLICT
    DO NOTHING`
const setExternalId = `UPDATE users SET source = 'core', external_id = $2 WHERE id = $1`

/** A customer as provisioning leaves them. */
export async function makeCustomer(house: TestGateway, externalId: string): Promise<User> {
  const { db } = house.gateway.context
  const user = await house.makeUser()
  await ask(db, insertSource, [house.clock.now()])
  await ask(db, setExternalId, [user.id, externalId])
  return user
}
