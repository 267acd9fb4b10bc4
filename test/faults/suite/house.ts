/**
 * Three nodes on a primary and a standby, each behind a network of its own, with a partner, its webhooks and
 * an account holder.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { openVault, parseKey } from '../../../src/crypto/vault.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { createClient } from '../../../src/partners/client.ts'
import {
  applyAsPartner,
  getPartner,
  setPartnerStatus,
  setRefreshAccess,
} from '../../../src/partners/partner.ts'
import { createService } from '../../../src/services/service.ts'
import { addAccount } from '../../../src/users/account.ts'
import { openPasswords } from '../../../src/users/password.ts'
import { createUser } from '../../../src/users/user.ts'
import { createWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { operatorAct, password } from '../../support/gateway.ts'
import { findFreePort } from '../../support/ports.ts'
import {
  type Credentials,
  exchange,
  type GatewayProcess,
  makeFolder,
  obtainCode,
  signIn,
  startGateway,
} from '../../support/process.ts'
import { openReceiver, type Receiver } from '../../support/receiver.ts'
import { testTimeoutMs } from '../../support/timeout.ts'
import { openPair, type Pair, urlOf } from './postgres.ts'
import { openRelay, type Relay, type Weather } from './relay.ts'

export interface Node {
  readonly origin: string
  gateway: GatewayProcess
  /** The network between this node and both servers. */
  change(weather: Weather): void
  restart(): Promise<void>
}

export interface House {
  readonly pair: Pair
  readonly nodes: readonly Node[]
  readonly db: Database
  readonly receiver: Receiver
  readonly hooks: readonly string[]
  readonly branchId: number
  readonly service: Credentials
  readonly client: Credentials
  readonly refreshToken: string
  close(): Promise<void>
}

const usualNodes = 3
const usualHooks = ['/one', '/two', '/three', '/four']

export interface HouseOptions {
  /** On a disk of the caller's choosing. */
  readonly primaryFolder?: string | undefined
  /** A folder to which the primary's log is archived. */
  readonly archive?: string | undefined
  readonly nodes?: number | undefined
  readonly nodeSettings?: NodeJS.ProcessEnv | undefined
  /** Paths of the receiver that are registered. */
  readonly hooks?: readonly string[] | undefined
}

/** Several that start in the same moment keep each other from it: one opens after the other. */
let lastOpened: Promise<unknown> = Promise.resolve()

export function openHouse(options?: HouseOptions): Promise<House> {
  const opening = lastOpened.then(() => open(options))
  lastOpened = opening.catch(() => {})
  return opening
}

async function open(options: HouseOptions = {}): Promise<House> {
  const {
    primaryFolder = makeFolder(),
    archive,
    nodes: count = usualNodes,
    nodeSettings,
    hooks = usualHooks,
  } = options
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.reverse()) await closer()
  }
  try {
    const standbyFolder = makeFolder()
    const pair = await openPair(primaryFolder, standbyFolder, archive)
    closers.push(async () => {
      await pair.close()
      // Whoever was killed may have left processes that still write there.
      rmSync(standbyFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
    })
    const receiver = await openReceiver()
    closers.push(() => receiver.close())
    const key = randomBytes(32).toString('hex')
    const nodes: Awaited<ReturnType<typeof openNode>>[] = []
    closers.push(async () => {
      await Promise.all(nodes.map((node) => node.close()))
    })
    while (nodes.length < count) nodes.push(await openNode(pair, key, nodeSettings))
    const db = openDatabase({
      connectionString: urlOf([pair.primary.port, pair.standby.port]),
      connections: 3,
    })
    closers.push(() => db.close())
    const people = await makePeople(db, key, receiver, hooks)
    const browser = await signIn(nodes[0]!.origin, { username: 'holder', password })
    const code = await obtainCode(browser, people.client.id)
    const tokens = (await exchange(nodes[0]!.origin, people.client, code)).json<{ refresh_token: string }>()
    return { pair, nodes, db, receiver, hooks, ...people, refreshToken: tokens.refresh_token, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * As an init system does it: again and again, until it stays up. On a busy machine a primary that answers
 * late is taken for one that is away.
 */
async function startWithRetries(settings: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  const giveUpAt = performance.now() + testTimeoutMs
  for (;;) {
    const started = await startGateway(settings).catch((error: unknown) => {
      if (performance.now() > giveUpAt) throw error
    })
    if (started) return started
    await wait(200)
  }
}

async function openNode(
  pair: Pair,
  key: string,
  nodeSettings: NodeJS.ProcessEnv | undefined,
): Promise<Node & { close(): Promise<void> }> {
  const relays: Relay[] = [await openRelay(pair.primary.port), await openRelay(pair.standby.port)]
  const settings = {
    PORT: String(await findFreePort()),
    SANDBOX_PORT: String(await findFreePort()),
    // One of the system's choice is another when all processes were gone at once.
    INTERNAL_PORT: String(await findFreePort()),
    DATABASE_URL: urlOf(relays.map((relay) => relay.port)),
    DATABASE_CONNECTIONS: '5',
    SECRET_KEY: key,
    ...nodeSettings,
  }
  const node = {
    origin: `http://127.0.0.1:${settings.PORT}`,
    // What a node that does not start leaves open would keep the whole file from ending.
    gateway: await startWithRetries(settings).catch(async (error: unknown) => {
      for (const relay of relays) await relay.close()
      throw error
    }),
    change(weather: Weather) {
      for (const relay of relays) relay.change(weather)
    },
    async restart() {
      node.gateway = await startWithRetries(settings)
    },
    async close() {
      node.gateway.kill('SIGKILL')
      await node.gateway.ended
      for (const relay of relays) await relay.close()
    },
  }
  return node
}

async function makePeople(db: Database, key: string, receiver: Receiver, hooks: readonly string[]) {
  const act = operatorAct(new Date())
  const vault = openVault({ kind: 'environment', keys: [parseKey(key)!] })
  const { branchId } = await applyAsPartner(db, 'Partner', act)
  const partner = await getPartner(db, String(branchId))
  await setPartnerStatus(db, partner, 'approved', undefined, act)
  await setRefreshAccess(db, partner, true, act)
  const draft = {
    name: 'App',
    callbackUrl: 'https://app.example.com/callback',
    scope: 'read',
    rotateRefreshTokens: false,
  }
  const made = await createClient(db, vault, partner, 'live', draft, { ...act, development: true })
  const policy = { allowLoopback: true, ports: [] }
  const branch = { branchId, environment: 'live' as const }
  for (const path of hooks) {
    const webhook = { url: receiver.url(path), secret: undefined, kinds: undefined }
    await createWebhook({ db, vault, policy }, branch, made.client.id, webhook, act)
  }
  const { service, secret } = await createService(db, 'ledger', 'live', act)
  const holder = { username: 'holder', name: 'Ada Holder', password, role: 'holder' as const }
  const user = await createUser(db, openPasswords(1), holder, act)
  const account = { classification: 'individual', dayTrader: false, optionLevel: 2, type: 'margin' } as const
  await addAccount(db, user, { ...account, accountNumber: 'ACC1', environment: 'live' }, act)
  return {
    branchId,
    client: { id: made.client.id, secret: made.secret.text },
    service: { id: service.id, secret: secret.text },
  }
}
