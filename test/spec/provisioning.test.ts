/**
 * /internal/v1/customers, accounts and holdings, and provision() in SQL: the brokerage's own systems say who
 * there is.
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { day } from '../../src/clock.ts'
import type { Sql } from '../../src/database/database.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { listAuthorizations } from '../../src/oauth/authorization.ts'
import { provision } from '../../src/provisioning/provisioning.ts'
import { selectCustomers } from '../../src/provisioning/reconciliation.sql.ts'
import { changeProvisioning, createService } from '../../src/services/service.ts'
import { listOpenAccounts } from '../../src/users/account.ts'
import { getUserNamed, setStatusOfOther, setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { faultsOf } from '../support/branch.ts'
import { type Answer, send } from '../support/browser.ts'
import { happened } from '../support/by-hand.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { nameSource, openCore, readSource } from '../support/provisioning.ts'

const house = await openHouse()
const { db } = house.gateway.context
const core = await openCore(house, 'live', ['core', 'proof'])
let made = 0
/** Names that no other test has. */
const nameOne = () => ({ customer: `C-${++made}`, account: `ACC-${made}` })

const outcomeOf = (answer: Answer) => {
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ outcome: string }>().outcome
}
const findCustomer = async (externalId: string) =>
  (
    await ask<{ id: string; status: string; version: number; removed: boolean }>(
      db,
      'SELECT id, status, version, removed_at IS NOT NULL AS removed FROM users WHERE external_id = $1',
      [externalId],
    )
  )[0]

test('a customer, an account and a holding that a source puts can be used at once', async () => {
  const { customer, account } = nameOne()
  await core.open(customer, account)
  const user = await getUserNamed(db, `core:${customer.toLowerCase()}`)
  const [held] = await listOpenAccounts(db, user.id, 'live')
  assert.deepEqual(
    [held!.accountNumber, held!.role, held!.scopes.length],
    [account.replace('-', ''), 'owner', 5],
  )
  const token = await house.makeToken(user)
  assert.match((await house.profile(token)).text, new RegExp(account.replace('-', '')))
})

test('the greatest version counts: an equal one is done already, a smaller one is skipped', async () => {
  const { customer } = nameOne()
  const put = (name: string, version: number) => core.put(`customers/${customer}`, { name, version })
  assert.equal(outcomeOf(await put('Ada', 5)), 'created')
  assert.equal(outcomeOf(await put('Ada', 5)), 'unchanged')
  assert.equal(outcomeOf(await put('Eve', 4)), 'skipped')
  assert.equal(outcomeOf(await put('Ada Lovelace', 6)), 'changed')
  assert.equal((await getUserNamed(db, `core:${customer.toLowerCase()}`)).name, 'Ada Lovelace')
})

test('nothing older than its removal brings a customer back; what is newer brings back the same one, whose authorizations stay ended', async () => {
  const { customer, account } = nameOne()
  await core.open(customer, account)
  const before = (await findCustomer(customer))!
  await allowApplication(customer, [account])
  assert.equal(outcomeOf(await core.remove(`customers/${customer}`, 7)), 'removed')
  assert.equal(outcomeOf(await core.put(`customers/${customer}`, { name: 'Ada', version: 6 })), 'skipped')
  assert.deepEqual(await findCustomer(customer), { ...before, status: 'disabled', version: 7, removed: true })
  assert.equal(outcomeOf(await core.put(`customers/${customer}`, { name: 'Ada', version: 8 })), 'changed')
  assert.deepEqual(await findCustomer(customer), { ...before, version: 8 })
  assert.deepEqual(await listAuthorizations(db, { userId: before.id }), [])
  assert.equal((await listOpenAccounts(db, before.id, 'live')).length, 1)
})

test('what was removed before anybody had heard of it is not raised by what is older', async () => {
  const { customer, account } = nameOne()
  for (const path of [`customers/${customer}`, `accounts/${account}`, `holdings/${customer}/${account}`])
    assert.equal(outcomeOf(await core.remove(path, 5)), 'removed')
  assert.equal(outcomeOf(await core.put(`customers/${customer}`, { name: 'Ada', version: 4 })), 'skipped')
  assert.equal(
    outcomeOf(
      await core.put(`accounts/${account}`, { number: account.replace('-', ''), type: 'cash', version: 4 }),
    ),
    'skipped',
  )
  assert.equal(
    outcomeOf(await core.put(`holdings/${customer}/${account}`, { role: 'owner', version: 4 })),
    'skipped',
  )
  assert.equal(await findCustomer(customer), undefined)
  await core.put(`customers/${customer}`, { name: 'Ada', version: 6 })
  await core.put(`accounts/${account}`, { number: account.replace('-', ''), type: 'cash', version: 6 })
  assert.equal(
    outcomeOf(await core.put(`holdings/${customer}/${account}`, { role: 'owner', version: 4 })),
    'skipped',
  )
  assert.deepEqual(await listOpenAccounts(db, (await findCustomer(customer))!.id, 'live'), [])
})

test('a holding may come before its customer and its account, and counts when both have come', async () => {
  const { customer, account } = nameOne()
  assert.equal(
    outcomeOf(await core.put(`holdings/${customer}/${account}`, { role: 'joint', version: 3 })),
    'waiting',
  )
  await core.put(`accounts/${account}`, { number: account.replace('-', ''), type: 'cash', version: 1 })
  assert.equal(
    outcomeOf(await core.put(`holdings/${customer}/${account}`, { role: 'viewer', version: 2 })),
    'skipped',
  )
  await core.put(`customers/${customer}`, { name: 'Ada', version: 1 })
  const [held] = await listOpenAccounts(db, (await findCustomer(customer))!.id, 'live')
  assert.equal(held!.role, 'joint')
})

test('a holding waits a day, and a removed one for as long as it takes', async () => {
  const { customer, account } = nameOne()
  await core.put(`holdings/${customer}/${account}`, { role: 'joint', version: 3 })
  await core.remove(`holdings/${customer}/${account}-B`, 3)
  house.clock.advance(day)
  await removeDead(house.gateway.context)
  await core.open(customer, account)
  await core.open(customer, `${account}-B`)
  const held = await listOpenAccounts(db, (await findCustomer(customer))!.id, 'live')
  assert.deepEqual(
    held.map(({ role, accountNumber }) => [role, accountNumber]),
    [['owner', account.replace('-', '')]],
  )
})

/** As the customer who signs in by the brokerage's own provider would: without a password of ours. */
async function allowApplication(customer: string, accounts: readonly string[]) {
  const client = await house.makeClient()
  const { id } = (await findCustomer(customer))!
  const numbers = accounts.map((each) => each.replaceAll('-', ''))
  const [authorization] = await ask<{ id: number }>(
    db,
    `INSERT INTO authorizations (user_id, client_id, scopes, account_numbers, approved_at, consented_at)
       VALUES ($1, $2, '{read}', $3, $4, $4) RETURNING id`,
    [id, client.id, numbers, house.clock.now()],
  )
  return { userId: id, authorizationId: authorization!.id }
}

async function actionsOf(authorizationId: number): Promise<string[]> {
  const rows = await ask<{ action: string }>(
    db,
    `SELECT action FROM ${happened} WHERE kind = 'AUTHORIZATION' AND entity = 'authorization:' || $1
        ORDER BY place`,
    [String(authorizationId)],
  )
  return rows.map(({ action }) => action)
}

test('a closed account leaves every authorization, and the last one ends it; partner and holder are told', async () => {
  const { customer, account } = nameOne()
  const second = `${account}-B`
  await core.open(customer, account)
  await core.open(customer, second)
  await core.put(`customers/${customer}`, { name: 'Ada', email: 'ada@example.com', version: 2 })
  const { userId, authorizationId } = await allowApplication(customer, [account, second])
  const close = (which: string) =>
    core.put(`accounts/${which}`, {
      number: which.replaceAll('-', ''),
      type: 'cash',
      status: 'closed',
      version: 2,
    })
  await close(account)
  assert.deepEqual((await listAuthorizations(db, { userId }))[0]!.accountNumbers, [
    second.replaceAll('-', ''),
  ])
  await core.put(`accounts/${account}`, { number: account.replaceAll('-', ''), type: 'cash', version: 3 })
  assert.deepEqual((await listAuthorizations(db, { userId }))[0]!.accountNumbers, [
    second.replaceAll('-', ''),
  ])
  await close(second)
  assert.deepEqual(await listAuthorizations(db, { userId }), [])
  assert.deepEqual(await actionsOf(authorizationId), ['GRANTED', 'CHANGED', 'REVOKED'])
  const told =
    "SELECT facts ->> 'reason' AS reason FROM notices WHERE user_id = $1 AND kind = 'access-ended' ORDER BY id"
  assert.deepEqual(await ask(db, told, [userId]), [
    { reason: 'account closed' },
    { reason: 'account closed' },
  ])
})

test('a customer whom the source locks is locked at once, and let in again by it, unless an operator had locked them', async () => {
  const { customer, account } = nameOne()
  await core.open(customer, account)
  const user = await getUserNamed(db, `core:${customer.toLowerCase()}`)
  const token = await house.makeToken(user)
  const put = (status: string, version: number) =>
    core.put(`customers/${customer}`, { name: 'Ada', status, version })
  assert.equal((await house.profile(token)).status, 200)
  await put('disabled', 2)
  assert.equal((await house.profile(token)).status, 401)
  await assert.rejects(setUserStatus(db, user, 'active', house.act()), /locked by the brokerage’s own system/)
  await put('active', 3)
  assert.equal((await house.profile(token)).status, 200)
  await setUserStatus(db, user, 'disabled', house.act())
  for (const [place, status] of ['active', 'disabled', 'active'].entries()) await put(status, 4 + place)
  assert.equal((await house.profile(token)).status, 401, 'what an operator locked stays locked')
  await setUserStatus(db, user, 'active', house.act())
  assert.equal((await house.profile(token)).status, 200)
})

test('an operator’s lock counts beside the source’s, whichever came first, until an operator unlocks', async () => {
  const operator = await house.makeOperator()
  const lockers: Record<string, (user: User, status: User['status']) => Promise<void>> = {
    console: (user, status) =>
      setStatusOfOther(db, user, status, { ...house.act(), by: { name: `user:${operator.id}` } }),
    'command line': (user, status) => setUserStatus(db, user, status, house.act()),
  }
  for (const [where, set] of Object.entries(lockers)) {
    const { customer } = nameOne()
    let version = 0
    const put = async (status: string) => {
      await core.put(`customers/${customer}`, { name: 'Ada', status, version: ++version })
      return (await findCustomer(customer))!.status
    }
    await put('active')
    const user = await getUserNamed(db, `core:${customer.toLowerCase()}`)
    await put('disabled')
    await set(user, 'disabled')
    assert.equal(await put('active'), 'disabled', `${where}: locked by both, and let in by one`)
    await set(user, 'active')
    assert.equal(await put('active'), 'active', `${where}: unlocked for good`)
    await put('disabled')
    assert.equal(await put('active'), 'active', `${where}: a lock that was undone does not come back`)
  }
})

test('provisioning never touches staff, nor anybody whom it did not name: a name that is taken is a fault', async () => {
  const operator = await house.makeOperator()
  const { customer } = nameOne()
  const answer = await core.put(`customers/${customer}`, {
    name: 'Mallory',
    username: operator.username,
    version: 1,
  })
  assert.deepEqual(Object.keys(faultsOf(answer)), ['username'])
  assert.deepEqual(await getUserNamed(db, operator.username), operator)
  const name = "UPDATE users SET source = 'core', external_id = $2 WHERE id = $1"
  await assert.rejects(ask(db, name, [operator.id, customer]), /users_external_id/)
  assert.equal(await findCustomer(customer), undefined)
})

test('an account keeps its number, and no two have the same', async () => {
  const { customer, account } = nameOne()
  await core.open(customer, account)
  const put = (path: string, number: string) =>
    core.put(`accounts/${path}`, { number, type: 'cash', version: 9 })
  for (const answer of [await put(account, 'OTHER1'), await put(`${account}-2`, account.replace('-', ''))])
    assert.deepEqual(Object.keys(faultsOf(answer)), ['number'])
})

test('the sandbox has sources of its own: nothing said there touches the live site', async () => {
  const { customer } = nameOne()
  await core.put(`customers/${customer}`, { name: 'Ada', version: 1 })
  await assert.rejects(
    openCore(house, 'sandbox', ['sandbox', 'core']),
    /"core", which is a source of the live site/,
  )
  const sandbox = await openCore(house, 'sandbox')
  const crossing = await sandbox.put(`customers/${customer}?source=core`, { name: 'Eve', version: 2 })
  assert.equal(crossing.status, 403)
  const site = { source: 'core', environment: 'sandbox' } as const
  const record = { kind: 'customer', op: 'upsert', externalId: customer, name: 'Eve', version: 2 } as const
  await assert.rejects(provision(db, site, record, house.act()), /source is one of the other site: core/)
  assert.equal(outcomeOf(await sandbox.put(`customers/${customer}`, { name: 'Eve', version: 2 })), 'created')
  assert.equal((await getUserNamed(db, `core:${customer.toLowerCase()}`)).name, 'Ada')
})

test('nobody but a service may provision', async () => {
  const client = await house.makeClient()
  for (const headers of [
    {},
    basic(client),
    { authorization: `Bearer ${await house.makeToken(await house.makeUser())}` },
  ]) {
    const answer = await send(`${house.internalUrl}/internal/v1/customers/C-1?version=1`, {
      method: 'DELETE',
      headers,
    })
    assert.equal(answer.status, 401)
  }
})

test('of a removal and an older record at the same moment, whichever comes first, the removal stands', async () => {
  const names = Array.from({ length: 20 }, nameOne)
  await Promise.all(
    names.flatMap(({ customer, account }) => [
      core.put(`customers/${customer}`, { name: 'Ada', version: 1 }),
      core.remove(`customers/${customer}`, 2),
      core.put(`holdings/${customer}/${account}`, { role: 'owner', version: 1 }),
      core.put(`accounts/${account}`, { number: account.replace('-', ''), type: 'cash', version: 1 }),
    ]),
  )
  const { customers } = await readSource(db)
  for (const { customer } of names)
    assert.deepEqual(
      customers!.filter((each) => (each as { id: string }).id === customer),
      [{ id: customer, said: null, version: 2 }],
    )
})

const provisionIt = 'SELECT public.provision($1, $2, $3) AS merged'
const run = (sql: Sql, text: string) => ask(sql, text)

/** As somebody who is connected with that role is: SET ROLE would leave the session whose it is. */
async function asCore(grants: string, work: (sql: Sql) => Promise<void>): Promise<void> {
  const undone = new Error('undone')
  const all = db.transaction(async (sql) => {
    await sql.script(grants)
    await run(sql, 'SET LOCAL SESSION AUTHORIZATION core_system')
    await work(sql)
    throw undone
  })
  await assert.rejects(all, (error) => error === undone)
}

async function refuses(
  sql: Sql,
  work: () => Promise<unknown>,
  error: RegExp | { code: string; message: RegExp },
) {
  await run(sql, 'SAVEPOINT here')
  await assert.rejects(work(), error)
  await run(sql, 'ROLLBACK TO here')
}

const [, documented] = /```sql\n(CREATE ROLE core_system .+?)```/s.exec(
  readFileSync('docs/provisioning.md', 'utf8'),
)!

test('a role that may execute provision needs nothing else, may do nothing else, and meets no tables of its own', async () => {
  const decoys = ['users', 'sources', 'source_roles', 'accounts', 'holdings'].map(
    (name) => `CREATE TEMP TABLE ${name} (LIKE public.${name});`,
  )
  await asCore(decoys.join('') + documented!, async (sql) => {
    const record = { kind: 'customer', externalId: 'C-SQL', name: 'Ada', version: 1 }
    const [row] = await ask<{ merged: { created: number } }>(sql, provisionIt, [
      'live',
      'core',
      JSON.stringify(record),
    ])
    assert.equal(row!.merged.created, 1)
    for (const text of [
      'SELECT FROM public.users',
      'DELETE FROM public.holdings',
      'UPDATE public.sources SET heard_at = now()',
      "INSERT INTO public.source_roles VALUES ('sandbox', 'core_system')",
      "SELECT public.set_source_role('sandbox', 'core_system', true)",
      "SELECT public.create_source('mine', 'live')",
    ])
      await refuses(sql, () => run(sql, text), /permission denied/)
  })
})

test('a role of the database speaks for the sources that it was given, and for no other; none is made by speaking for it', async () => {
  const record = JSON.stringify({ kind: 'customer', externalId: 'C-SQL', name: 'Ada', version: 1 })
  const say = (sql: Sql, source: string, site = 'live') => ask(sql, provisionIt, [site, source, record])
  await asCore(documented!, async (sql) => {
    await say(sql, 'core')
    await refuses(sql, () => say(sql, 'proof'), {
      code: '42501',
      message:
        /role "core_system" may not speak for source "proof"\. Allow it: countersign source update proof --role core_system$/,
    })
    await refuses(sql, () => say(sql, 'croe'), {
      code: '42704',
      message: /There is no source "croe"\. Name it first: countersign source create croe$/,
    })
    await refuses(sql, () => say(sql, 'core', 'sandbox'), /core belongs to the live site/)
    await run(sql, 'RESET SESSION AUTHORIZATION')
    await run(sql, "SELECT set_source_role('core', 'core_system', false)")
    await run(sql, 'SET LOCAL SESSION AUTHORIZATION core_system')
    await refuses(sql, () => say(sql, 'core'), /may not speak for source "core"/)
  })
})

/** The newest entries of the log, newest last. */
async function entriesOf(actions: readonly string[], most: number) {
  const rows = await ask<{
    actor: string
    action: string
    subject: string
    details: Record<string, unknown>
  }>(
    db,
    'SELECT actor, action, subject, details FROM audit_entries WHERE action = ANY ($1) ORDER BY id DESC LIMIT $2',
    [actions, most],
  )
  return rows.reverse()
}

test('what a source changed is in the log, by the names of the fields: a record by itself, or many with their ids', async () => {
  const [one, two] = [nameOne(), nameOne()]
  const number = (account: string) => account.replace('-', '')
  const applied = (most: number) => entriesOf(['provisioning.applied', 'provisioning.merged'], most)
  await core.put(`customers/${one.customer}`, { name: 'Ada', email: 'ada@example.com', version: 1 })
  await core.put(`customers/${one.customer}`, {
    name: 'Ada L.',
    locale: 'en',
    status: 'disabled',
    version: 2,
  })
  assert.deepEqual(await applied(2), [
    {
      ...{
        actor: `service:${core.id}`,
        action: 'provisioning.applied',
        subject: `customer:core/${one.customer}`,
      },
      details: { outcome: 'created', version: 1 },
    },
    {
      ...{
        actor: `service:${core.id}`,
        action: 'provisioning.applied',
        subject: `customer:core/${one.customer}`,
      },
      details: { outcome: 'changed', fields: ['name', 'locale', 'status'], version: 2 },
    },
  ])
  const [role] = await ask<{ name: string }>(db, 'SELECT session_user::text AS name')
  await ask(db, provisionIt, [
    'live',
    'core',
    JSON.stringify([
      { kind: 'customer', externalId: one.customer, name: 'Ada L.', email: 'eve@example.com', version: 3 },
      { kind: 'customer', externalId: two.customer, name: 'Bob', version: 3 },
      { kind: 'account', externalId: one.account, number: number(one.account), type: 'cash', version: 3 },
      { kind: 'holding', customer: one.customer, account: one.account, role: 'owner', version: 3 },
      { kind: 'customer', op: 'remove', externalId: `${two.customer}-gone`, version: 3 },
    ]),
  ])
  await ask(db, provisionIt, [
    'live',
    'core',
    JSON.stringify([
      {
        kind: 'account',
        externalId: one.account,
        number: number(one.account),
        type: 'margin',
        optionLevel: 3,
        version: 4,
      },
      { kind: 'holding', customer: one.customer, account: one.account, role: 'viewer', version: 4 },
    ]),
  ])
  const [first, second] = await applied(2)
  assert.deepEqual(
    [first!.actor, first!.action, first!.subject],
    [`role:${role!.name}`, 'provisioning.merged', 'source:core'],
  )
  assert.deepEqual(first!.details, {
    ...{ source: 'core', created: 3, changed: 1, removed: 1 },
    records: [
      { kind: 'customer', outcome: 'changed', fields: ['email', 'status'], ids: [one.customer] },
      { kind: 'customer', outcome: 'created', ids: [two.customer] },
      { kind: 'customer', outcome: 'removed', ids: [`${two.customer}-gone`] },
      { kind: 'account', outcome: 'created', ids: [one.account] },
      { kind: 'holding', outcome: 'created', ids: [`${one.customer}/${one.account}`] },
    ],
  })
  assert.deepEqual(second!.details.records, [
    { kind: 'account', outcome: 'changed', fields: ['type', 'optionLevel'], ids: [one.account] },
    {
      kind: 'holding',
      outcome: 'changed',
      fields: ['role', 'mayAuthorize'],
      ids: [`${one.customer}/${one.account}`],
    },
  ])
  await ask(db, provisionIt, [
    'live',
    'core',
    JSON.stringify({ kind: 'customer', externalId: two.customer, name: 'Bob', version: 3 }),
  ])
  assert.deepEqual(await applied(2), [first, second], 'what was known already leaves no entry')
})

test('what provision says commits with the transaction that says it, or vanishes with it', async () => {
  const { customer } = nameOne()
  const record = JSON.stringify([{ kind: 'customer', externalId: customer, name: 'Ada', version: 1 }])
  const undone = new Error('undone')
  const all = db.transaction(async (sql) => {
    await ask(sql, provisionIt, ['live', 'core', record])
    throw undone
  })
  await assert.rejects(all, (error) => error === undone)
  assert.equal(await findCustomer(customer), undefined)
  await ask(db, provisionIt, ['live', 'core', record])
  assert.equal((await findCustomer(customer))!.version, 1)
})

test('both sides prove that they are equal by checksums of a thousand, and find what differs by pages', async () => {
  const source = 'proof'
  const lines: string[] = []
  for (let n = 0; n < 3; n++) {
    const [customer, account] = [`P-${n}`, `PA-${n}`]
    await core.put(`customers/${customer}?source=${source}`, { name: 'Ada', version: n + 1 })
    await core.put(`accounts/${account}?source=${source}`, { number: `PROOF${n}`, type: 'cash', version: 5 })
    await core.put(`holdings/${customer}/${account}?source=${source}`, { role: 'owner', version: 6 })
    const said = [customer, n + 1, 'Ada', '', '', '', 'active']
    const its = [account, 5, `PROOF${n}`, 'cash', 'individual', 'active', 1, false, '']
    lines.push(`${[...said, ...its, 6, 'owner', 'read write market trade stream', 'active'].join('\t')}\n`)
  }
  await core.put(`customers/P-9?source=${source}`, { name: 'Gone', version: 1 })
  await core.remove(`customers/P-9?source=${source}&`, 2)
  const ask = async <Body>(query: string) =>
    (
      await send(
        `${house.internalUrl}/internal/v1/customers?source=${source}&without=username,email,locale,openedAt&${query}`,
        { headers: core.headers },
      )
    ).json() as Body
  const sum = (some: readonly string[]) => createHash('sha256').update(some.join('')).digest('hex')
  assert.deepEqual(await ask('only=checksums'), {
    checksums: [{ last: 'P-2', customers: 3, checksum: sum(lines) }],
  })
  const page = await ask<{
    customers: { externalId: string; holdings: object[] }[]
    checksum: string
    next: string
  }>('limit=2')
  assert.deepEqual(
    [page.checksum, page.next, page.customers.map((each) => each.externalId)],
    [sum(lines.slice(0, 2)), 'P-1', ['P-0', 'P-1']],
  )
  const [{ openedAt, ...held }] = page.customers[0]!.holdings as [Record<string, unknown>]
  assert.deepEqual(held, {
    ...{ account: 'PA-0', number: 'PROOF0', accountVersion: 5, accountStatus: 'active' },
    ...{ type: 'cash', classification: 'individual', optionLevel: 1, dayTrader: false },
    ...{
      role: 'owner',
      mayAuthorize: ['read', 'write', 'market', 'trade', 'stream'],
      status: 'active',
      version: 6,
    },
  })
  assert.equal(openedAt, house.clock.now().toISOString().replace('Z', '000Z'))
  const rest = await ask<{ customers: object[]; next?: string }>('after=P-1')
  assert.deepEqual([rest.customers.length, rest.next], [1, undefined])
})

test('whatever two records of a version say differently shows in the checksums', async () => {
  const before = {
    customer: { name: 'Ada', username: 'proven', email: 'ada@example.com', locale: 'en', status: 'active' },
  }
  const account = {
    number: 'PROVEN1',
    type: 'cash',
    classification: 'trust',
    status: 'active',
    optionLevel: 1,
  }
  const all = {
    ...before,
    account: { ...account, dayTrader: false, openedAt: '2020-01-31T09:30:00Z' },
    holding: { role: 'owner', mayAuthorize: ['read'], status: 'active' },
  }
  const others = {
    customer: { name: 'Eve', username: 'other', email: 'eve@example.com', locale: 'fr', status: 'disabled' },
    account: {
      type: 'margin',
      classification: 'joint',
      status: 'closed',
      optionLevel: 2,
      dayTrader: true,
      openedAt: '2021-01-31T09:30:00Z',
    },
    holding: { role: 'viewer', mayAuthorize: ['read', 'trade'], status: 'suspended' },
  } as Record<string, Record<string, unknown>>
  let number = 0
  /** The same versions, in a source of its own. */
  const sumOf = async (said: Record<string, Record<string, unknown>>) => {
    const source = await nameSource(house)
    const own = ++number
    const { username } = said.customer!
    const records = [
      { kind: 'customer', externalId: 'C-1', version: 1, ...said.customer, username: `${username}-${own}` },
      { kind: 'account', externalId: 'A-1', version: 1, ...said.account, number: `PROVEN${own}` },
      { kind: 'holding', customer: 'C-1', account: 'A-1', version: 1, ...said.holding },
    ]
    await ask(db, provisionIt, ['live', source, JSON.stringify(records)])
    const [row] = await db.query(
      { ...selectCustomers, name: '' },
      { source, after: '', most: 1, without: [] },
    )
    return row!.line.replace(`PROVEN${own}`, 'PROVEN').replace(`${username}-${own}`, String(username))
  }
  const same = await sumOf(all)
  assert.equal(await sumOf(all), same)
  for (const kind of Object.keys(others))
    for (const [field, value] of Object.entries(others[kind]!)) {
      const changed = { ...all, [kind]: { ...all[kind as 'customer'], [field]: value } }
      assert.notEqual(await sumOf(changed as typeof others), same, `${kind} ${field}`)
    }
})

/** Everything that says who there is, or tells it, as rows of the table. */
const provisioningRoutes = apiRoutes.filter(({ path }) =>
  /^\/internal\/v1\/(?!events|revocations|audit)/.test(path),
)

test('a service speaks for the sources that it was given, at every address, and for no other', async () => {
  const { service, secret } = await createService(db, 'orders', 'live', house.act())
  const headers = basic({ id: service.id, secret: secret.text })
  const { json } = await send(`${house.internalUrl}/internal/v1/imports?source=core`, {
    ...{ method: 'POST', headers: { ...core.headers, 'content-type': 'application/x-ndjson' }, body: '\n' },
  })
  const { id } = json<{ id: number }>()
  const call = ({ method, path, takes }: (typeof provisioningRoutes)[number]) => {
    const query = path.endsWith(':id') ? '?after=0' : method === 'DELETE' ? '?version=1' : ''
    const body =
      takes === 'lines' ? '\n' : method === 'PUT' ? JSON.stringify(bodies[path.split('/')[3]!]) : undefined
    const type = takes === 'lines' ? 'application/x-ndjson' : 'application/json'
    return send(
      `${house.internalUrl}${path.replace(':id', String(id)).replaceAll(/:\w+/g, 'rights-1')}${query}`,
      {
        ...{ method: method as 'PUT', headers: { ...headers, ...(body && { 'content-type': type }) } },
        ...(body && { body }),
      },
    )
  }
  const remedy = `This service may not provision for source 'core'. An operator can allow it: countersign service update ${service.id} --provision core`
  const change = (added: string[], withdrawn: string[]) =>
    changeProvisioning(db, service.id, { added, withdrawn }, house.act())
  assert.ok(provisioningRoutes.length >= 11)
  await nameSource(house, 'live', 'crm')
  for (const row of provisioningRoutes) {
    const named = `${row.method} ${row.path}`
    await change([], ['core', 'crm'])
    const none = await call(row)
    assert.deepEqual(
      [named, none.status, none.json<{ error_description: string }>().error_description],
      [named, 403, remedy],
    )
    await change(['crm'], [])
    const other = await call(row)
    if (row.path === '/internal/v1/imports' && row.method === 'GET')
      assert.deepEqual(other.json(), { imports: [] })
    else assert.deepEqual([named, other.status], [named, 403])
    await change(['core'], [])
    assert.notEqual((await call(row)).status, 403, named)
  }
  assert.equal(
    (await send(`${house.internalUrl}/internal/openapi.json`, { headers })).status,
    200,
    'a right by itself',
  )
})

const bodies: Readonly<Record<string, object>> = {
  customers: { name: 'Ada', version: 1 },
  accounts: { number: 'RIGHTS1', type: 'cash', version: 1 },
  holdings: { role: 'owner', version: 1 },
}
