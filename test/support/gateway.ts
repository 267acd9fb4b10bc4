/**
 * A whole gateway on a database of its own, with a clock that tests can move, and the people of a small
 * brokerage.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Act } from '../../src/audit/audit.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { openSchemaCompilers } from '../../src/http/schema-compilers.ts'
import { type Client, createClient } from '../../src/partners/client.ts'
import {
  applyAsPartner,
  getPartner,
  type Partner,
  setPartnerStatus,
  setRefreshAccess,
} from '../../src/partners/partner.ts'
import { readConfig } from '../../src/settings/config.ts'
import { addAccount } from '../../src/users/account.ts'
import { createApiToken } from '../../src/users/api-token.ts'
import { openPasswords } from '../../src/users/password.ts'
import type { StaffRole } from '../../src/users/staff-role.ts'
import { createUser, type User } from '../../src/users/user.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type Answer, Browser, everythingOffered, type Fields, postForm, send } from './browser.ts'
import { TestClock } from './clock.ts'
import { openTestDatabase } from './database.ts'
import { newFolder } from './folder.ts'
import { keepOpen } from './keep-open.ts'
import { databaseTimeoutMs } from './lenient-database.ts'
import { makeUpWord } from './made-up-word.ts'

export const password = 'correct horse battery'
export const operator = { name: 'operator:test' }

/** What an operator does, at that moment. */
export function operatorAct(at: Date): Act {
  return { by: operator, at }
}

/**
 * What a gateway of a test is given beside its settings. Lanes are let go sooner than in production: the
 * clock is moved only when nobody holds any. A sign-in costs no more than a request: what guessing costs is
 * the matter of those who ask for passwords as in production. Schemas are compiled once a process.
 */
export const nodeOptions = {
  lingerMs: 20,
  databaseTimeoutMs,
  passwords: openPasswords(2, { memoryCost: 64, timeCost: 1 }),
  compilers: openSchemaCompilers(),
}

export interface TestClient extends Client {
  readonly secret: string
}

export interface TestGateway {
  readonly gateway: Gateway
  readonly clock: TestClock
  readonly databaseUrl: string
  readonly baseUrl: string
  readonly sandboxUrl: string
  /** Where the brokerage's own systems call, for either site. */
  readonly internalUrl: string
  readonly settings: NodeJS.ProcessEnv
  /** The address of a path, wherever it is answered. */
  at(path: string, environment?: Environment): string
  /** What an operator does, now. */
  act(): Act
  makeUser(username?: string, accounts?: readonly string[]): Promise<User>
  /** Somebody of the staff: an administrator, or with these roles. */
  makeOperator(name?: string, staffRoles?: readonly StaffRole[]): Promise<User>
  makePartner(options?: { refresh?: boolean }): Promise<Partner>
  makeClient(options?: ClientOptions): Promise<TestClient>
  makeToken(user: User, environment?: Environment): Promise<string>
  /** A browser in which the user has signed in. */
  signIn(user: User, environment?: Environment): Promise<Browser>
  /** The whole way from the authorize endpoint to the callback's parameters. */
  approve(client: TestClient, browser: Browser, options?: ApproveOptions): Promise<URLSearchParams>
  /** A code for a new user. */
  makeCode(client: TestClient, options?: ApproveOptions): Promise<string>
  exchange(client: TestClient, code: string, fields?: Fields): Promise<Answer>
  refresh(client: TestClient, refreshToken: string, fields?: Fields): Promise<Answer>
  profile(token: string, environment?: Environment): Promise<Answer>
  close(): Promise<void>
}

export interface ClientOptions {
  readonly partner?: Partner
  readonly environment?: Environment
  readonly callbackUrl?: string
  readonly scope?: string
  readonly refresh?: boolean
  readonly rotate?: boolean
}

export interface ApproveOptions {
  readonly scope?: string
  readonly state?: string
  readonly extra?: Record<string, string>
}

export interface TokenBody {
  readonly access_token: string
  readonly refresh_token?: string
  readonly scope: string
  readonly issued_at: string
}

/** One for all the tests of a file. */
export function openHouse(...how: Parameters<typeof openTestGateway>): Promise<TestGateway> {
  return keepOpen(openTestGateway(...how))
}

/**
 * `settings` are environment variables on top of the test's own; `log` is where its lines go instead of
 * nowhere.
 */
export async function openTestGateway(
  settings: NodeJS.ProcessEnv = {},
  log?: Logger,
  options: Partial<typeof nodeOptions> = nodeOptions,
): Promise<TestGateway> {
  const database = settings.DATABASE_URL ? undefined : await openTestDatabase()
  const dataDir = newFolder('gateway')
  const all: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: '0',
    INTERNAL_PORT: '0',
    DATA_DIR: dataDir,
    ...(database && { DATABASE_URL: database.url }),
    DATABASE_CONNECTIONS: '5',
    SECRET_KEY: randomBytes(32).toString('hex'),
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '0',
    SANDBOX_RATE_LIMIT_PER_MINUTE: '0',
    CLIENT_FAILURES_PER_MINUTE: '1000',
    TEST_HOOKS_PER_MINUTE: '0',
    LOGIN_FAILURES_PER_ADDRESS: '1000',
    ...settings,
  }
  const clock = new TestClock()
  const gateway = await openGateway(readConfig(all), { clock, ...options, ...(log && { log }) })
  return describe(gateway, clock, all, async () => {
    await gateway.close()
    await database?.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
}

function describe(
  gateway: Gateway,
  clock: TestClock,
  settings: NodeJS.ProcessEnv,
  close: () => Promise<void>,
): TestGateway {
  const { db, vault, passwords } = gateway.context
  const urlOf = (environment: Environment) => (environment === 'live' ? gateway.baseUrl : gateway.sandboxUrl)

  const self: TestGateway = {
    gateway,
    clock,
    databaseUrl: settings.DATABASE_URL!,
    baseUrl: gateway.baseUrl,
    sandboxUrl: gateway.sandboxUrl,
    internalUrl: gateway.internalUrl,
    settings,
    at: (path, environment = 'live') => (isInternal(path) ? gateway.internalUrl : urlOf(environment)) + path,
    act: () => operatorAct(clock.now()),
    async makeUser(username = `user-${makeUpWord()}`, accounts = [makeUpWord().toUpperCase()]) {
      const user = await createUser(
        db,
        passwords,
        { username, name: 'Ada Holder', password, role: 'holder' },
        self.act(),
      )
      const common = {
        classification: 'individual',
        dayTrader: false,
        optionLevel: 2,
        type: 'margin',
      } as const
      for (const accountNumber of accounts) {
        for (const environment of ['live', 'sandbox'] as const) {
          const number = environment === 'live' ? accountNumber : `VA${accountNumber}`
          await addAccount(db, user, { ...common, accountNumber: number, environment }, self.act())
        }
      }
      return user
    },
    makeOperator(name = 'Olga Operator', staffRoles = ['administrator']) {
      const draft = {
        username: `operator-${makeUpWord()}`,
        name,
        password,
        role: 'operator',
        staffRoles,
      } as const
      return createUser(db, passwords, draft, self.act())
    },
    async makePartner({ refresh = true } = {}) {
      const { branchId } = await applyAsPartner(db, `Partner ${makeUpWord()}`, self.act())
      const partner = await getPartner(db, String(branchId))
      await setPartnerStatus(db, partner, 'approved', undefined, self.act())
      await setRefreshAccess(db, partner, refresh, self.act())
      return getPartner(db, String(branchId))
    },
    async makeClient(options = {}) {
      const {
        environment = 'live',
        callbackUrl = 'https://app.example.com/callback',
        scope = 'read write market trade stream',
      } = options
      const partner = options.partner ?? (await self.makePartner({ refresh: options.refresh ?? true }))
      const draft = {
        name: 'Portfolio Pal',
        callbackUrl,
        scope,
        rotateRefreshTokens: options.rotate ?? false,
      }
      const made = await createClient(db, vault, partner, environment, draft, {
        ...self.act(),
        development: true,
      })
      return { ...made.client, secret: made.secret.text }
    },
    async makeToken(user, environment = 'live') {
      return (await createApiToken(db, user, { environment, name: 'test' }, self.act())).token.text
    },
    async signIn(user, environment = 'live') {
      const browser = new Browser(urlOf(environment))
      const page = await browser.get('/login')
      const answer = await browser.submit(page, '/login', { username: user.username, password })
      if (answer.status !== 303) throw new Error(`Sign-in failed: ${answer.status} ${answer.text}`)
      return browser
    },
    async approve(client, browser, { scope = 'read', state = 'st', extra = {} } = {}) {
      const query = new URLSearchParams({ client_id: client.id, scope, state, ...extra })
      const start = await browser.get(`/v1/oauth/authorize?${query}`)
      const login = await browser.get(start.location!)
      if (login.status !== 303) throw new Error(`Not signed in: ${login.status}`)
      const page = await browser.get(login.location!)
      const answer = await browser.submit(page, '/consent', {
        decision: 'approve',
        ...everythingOffered(page.text),
      })
      if (answer.status !== 303) throw new Error(`Consent failed: ${answer.status} ${answer.text}`)
      return new URL(answer.location!).searchParams
    },
    async makeCode(client, options) {
      const browser = await self.signIn(await self.makeUser(), client.environment)
      return (await self.approve(client, browser, options)).get('code')!
    },
    exchange: (client, code, fields = {}) =>
      postForm(
        `${urlOf(client.environment)}/v1/oauth/accesstoken`,
        { grant_type: 'authorization_code', code, ...fields },
        basic(client),
      ),
    refresh: (client, refresh_token, fields = {}) =>
      postForm(
        `${urlOf(client.environment)}/v1/oauth/refreshtoken`,
        { grant_type: 'refresh_token', refresh_token, ...fields },
        basic(client),
      ),
    profile: (token, environment = 'live') =>
      send(`${urlOf(environment)}/v1/user/profile`, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      }),
    close,
  }
  return self
}

/** What only the internal listener answers. */
export function isInternal(path: string): boolean {
  return /^\/(internal|admin|forward-auth)(\/|$)/.test(path)
}

export function basic({ id, secret }: Pick<TestClient, 'id' | 'secret'>): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}
