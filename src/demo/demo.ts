/**
 * For a person, in a minute: on an empty private database that only this machine can reach, the first start
 * makes a user, a partner and its clients, and writes everything needed to try them to demo.json. Never
 * elsewhere.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Act } from '../audit/audit.ts'
import type { SharedContext } from '../context.ts'
import { randomLetters } from '../crypto/random.ts'
import type { Sql } from '../database/database.ts'
import { createClient } from '../partners/client.ts'
import {
  addMember,
  applyAsPartner,
  getPartner,
  listPartners,
  setPartnerStatus,
  setRefreshAccess,
} from '../partners/partner.ts'
import { isDevelopment } from '../settings/config.ts'
import { type Account, addAccount, setHolding } from '../users/account.ts'
import { createApiToken } from '../users/api-token.ts'
import { scopesOfRole } from '../users/holding.ts'
import { createUser, createWithoutPassword, type User } from '../users/user.ts'
import { findUsers } from '../users/user-search.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'

interface DemoClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly callbackUrl: string
  readonly branchId: number
}

export interface Demo extends DemoClient {
  readonly baseUrl: string
  readonly sandboxUrl: string
  /** Of the internal listener. */
  readonly internalUrl: string
  readonly username: string
  readonly password: string
  readonly apiToken: string
  readonly sandboxToken: string
  readonly operator: { readonly username: string; readonly password: string }
  readonly sandbox: DemoClient
}

/** Where the demo is made. */
export interface DemoHouse {
  readonly baseUrl: string
  readonly sandboxUrl: string
  readonly internalUrl: string
  readonly context: Pick<SharedContext, 'config' | 'db' | 'clock' | 'vault' | 'passwords'>
}

const callbackUrl = 'http://localhost:3000/callback'

/**
 * Undefined where there is no demo: a database of one's own, an address others can reach, data made by hand.
 */
export async function ensureDemo(gateway: DemoHouse): Promise<Demo | undefined> {
  const { config, db } = gateway.context
  if (config.databaseUrl !== undefined || !isDevelopment(config)) return undefined
  const path = join(config.dataDir, 'demo.json')
  const { baseUrl, sandboxUrl, internalUrl } = gateway
  const isEmpty = (await findUsers(db, {}, 1)).users.length === 0 && (await listPartners(db)).length === 0
  if (isEmpty) return makeDemo(gateway, path)
  const made = readDemo(path)
  if (!made) return undefined
  const demo = { ...made, baseUrl, sandboxUrl, internalUrl }
  writeDemo(path, demo)
  return demo
}

/** Written beside and renamed: the only copy of the credentials is never half there. */
function writeDemo(path: string, demo: Demo): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
}

function readDemo(path: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Demo
  } catch {
    return undefined
  }
}

/**
 * All of it or nothing: the file is written before the data are committed, and a file without data is made
 * anew.
 */
function makeDemo(gateway: DemoHouse, path: string): Promise<Demo> {
  const { db } = gateway.context
  return db.transaction(async (sql) => {
    const demo = await fillDemo(gateway, sql)
    writeDemo(path, demo)
    return demo
  })
}

async function fillDemo(gateway: DemoHouse, db: Sql): Promise<Demo> {
  const { passwords, clock } = gateway.context
  const act: Act = { by: { name: 'operator:demo' }, at: clock.now() }
  const password = randomLetters(16)
  const operatorPassword = randomLetters(16)
  const user = await createUser(
    db,
    passwords,
    { username: 'alice', name: 'Alice Example', password, role: 'holder', email: 'alice@example.com' },
    act,
  )
  const operator = {
    username: 'operator',
    name: 'Olga Operator',
    password: operatorPassword,
    role: 'operator',
    staffRoles: ['administrator'],
  } as const
  await createUser(db, passwords, operator, act)
  const common = { classification: 'individual', dayTrader: false, optionLevel: 2 } as const
  await addAccount(
    db,
    user,
    { ...common, accountNumber: '6YA10001', environment: 'live', type: 'margin' },
    act,
  )
  await addAccount(
    db,
    user,
    { ...common, accountNumber: 'VA20001', environment: 'sandbox', type: 'cash' },
    act,
  )
  await shareAccounts(db, user, common, act)

  const { branchId } = await applyAsPartner(db, 'Example Partner', act)
  const partner = await getPartner(db, String(branchId))
  await setPartnerStatus(db, partner, 'approved', undefined, act)
  await setRefreshAccess(db, partner, true, act)
  await addMember(db, partner, user, act)

  const makeClient = async (environment: Environment): Promise<DemoClient> => {
    const draft = { name: 'Portfolio Pal', callbackUrl, scope: scopes.join(' '), rotateRefreshTokens: false }
    const { client, secret } = await createClient(db, gateway.context.vault, partner, environment, draft, {
      ...act,
      development: true,
    })
    return { clientId: client.id, clientSecret: secret.text, callbackUrl, branchId }
  }
  const makeToken = async (environment: Environment) =>
    (await createApiToken(db, user, { environment, name: 'demo' }, act)).token.text

  return {
    baseUrl: gateway.baseUrl,
    sandboxUrl: gateway.sandboxUrl,
    internalUrl: gateway.internalUrl,
    ...(await makeClient('live')),
    username: user.username,
    password,
    apiToken: await makeToken('live'),
    sandboxToken: await makeToken('sandbox'),
    operator: { username: operator.username, password: operatorPassword },
    sandbox: await makeClient('sandbox'),
  }
}

/**
 * One that they hold with another person, and one that is another's and they advise on: a consent page says
 * whose each is.
 */
async function shareAccounts(
  db: Sql,
  user: User,
  common: Pick<Account, 'dayTrader' | 'optionLevel'>,
  act: Act,
): Promise<void> {
  const other = await createWithoutPassword(db, { username: 'bob', name: 'Bob Example', role: 'holder' }, act)
  for (const [accountNumber, classification, role] of [
    ['6YA10002', 'joint', 'joint'],
    ['6YA10003', 'individual', 'adviser'],
  ] as const) {
    await addAccount(
      db,
      other,
      { ...common, accountNumber, classification, environment: 'live', type: 'cash' },
      act,
    )
    await setHolding(db, user, { accountNumber, role, scopes: scopesOfRole[role] }, act)
  }
}

export function printDemo(demo: Demo): string {
  const { baseUrl, clientId, clientSecret, apiToken } = demo
  return `
  Countersign is running, with demo data (also in demo.json of the data folder).

    live        ${baseUrl}
    sandbox     ${demo.sandboxUrl}
    internal    ${demo.internalUrl}   for your own systems: /internal, /admin
    account     ${baseUrl}/account   sign in as ${demo.username} with ${demo.password}
    operator    ${demo.operator.username} with ${demo.operator.password}
    client      ${clientId}
    secret      ${clientSecret}

  1. Call the API with a personal token:

    curl -s -H "Authorization: Bearer ${apiToken}" ${baseUrl}/v1/user/profile

  2. Approve the demo application: open this address, sign in and allow it. Nothing needs to listen at the
     callback: copy the code from the browser's address bar.

    ${baseUrl}/v1/oauth/authorize?client_id=${clientId}&scope=read,trade&state=demo

  3. Trade the code for an access token (put it in place of CODE):

    curl -s -u ${clientId}:${clientSecret} -d grant_type=authorization_code -d code=CODE ${baseUrl}/v1/oauth/accesstoken

  4. Watch events arrive, in another terminal; then send a test webhook:

    npx countersign listen

    curl -s -u ${clientId}:${clientSecret} -H "Content-Type: application/json" ${baseUrl}/v2/webhooks/transaction \\
      -d '{"transactionId":42,"clearingAccount":"1234","type":"TRANSACTION","action":"COMPLETED","branchId":${demo.branchId},"email":"alice@example.com","amount":500.10,"direction":"DEPOSIT"}'

  Requests are not shown here: LOG_LEVEL=debug does that. Control-C ends it.

`
}
