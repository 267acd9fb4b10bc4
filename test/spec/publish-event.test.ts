/**
 * The SQL function that joins the brokerage's own transactions: whose tables it writes to, who may call it,
 * and what it takes.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Sql } from '../../src/database/database.ts'
import { createService } from '../../src/services/service.ts'
import { isPublishedKind, kinds, payloads } from '../../src/webhooks/events/kind.ts'
import { ask } from '../support/ask.ts'
import { achProfile, application, callJson, openBranch, transaction } from '../support/branch.ts'
import { basic, openHouse } from '../support/gateway.ts'

type Body = Record<string, unknown>

/** Nobody takes anything out of the outbox of this house. */
const house = await openHouse({ ROLES: 'api' })
const branch = await openBranch(house)
const service = await createService(house.gateway.context.db, 'ledger', 'live', house.act())
const ledger = basic({ id: service.service.id, secret: service.secret.text })

const publishEvent = 'SELECT public.publish_event($1, $2, $3, $4, $5, $6) AS uid'
const run = (sql: Sql, text: string) => ask(sql, text)

const idField = {
  TRANSACTION: 'transactionId',
  APPLICATION: 'applicationId',
  ACH_PROFILE: 'profileId',
} as const
const samples: Record<keyof typeof idField, (change?: Body) => Body> = {
  TRANSACTION: transaction,
  APPLICATION: application,
  ACH_PROFILE: achProfile,
}

/** The six arguments for a body that is right, or as right as it can be made to look. */
function argumentsFor(body: Body, text = JSON.stringify(body)): unknown[] {
  const kind = String(body.type) as keyof typeof idField
  return ['live', branch.branchId, kind, body.action, String(body[idField[kind]]), text]
}

function good(kind: keyof typeof idField, change: Body = {}): Body {
  return samples[kind]({ branchId: branch.branchId, ...change })
}

async function isStored(uid: string): Promise<boolean> {
  const { db } = house.gateway.context
  const [row] = await ask<{ stored: boolean }>(
    db,
    'SELECT EXISTS (SELECT FROM public.outbox WHERE uid = $1) AS stored',
    [uid],
  )
  return row!.stored
}

test("publish_event writes to the gateway's tables, whatever the caller has of the same name", async () => {
  const { db } = house.gateway.context
  const uid = await db.transaction(async (sql) => {
    await run(sql, 'CREATE SCHEMA decoy')
    for (const place of ['pg_temp', 'decoy']) {
      for (const name of ['outbox', 'partners', 'days'])
        await run(sql, `CREATE TABLE ${place}.${name} (LIKE public.${name} INCLUDING DEFAULTS)`)
    }
    await run(
      sql,
      `CREATE FUNCTION decoy.part_of(integer) RETURNS smallint LANGUAGE sql AS 'SELECT 77::smallint'`,
    )
    await run(sql, 'SET LOCAL search_path = decoy, public')
    const [row] = await ask<{ uid: string }>(sql, publishEvent, argumentsFor(good('TRANSACTION')))
    await run(sql, 'SET LOCAL search_path = public')
    await run(sql, 'DROP SCHEMA decoy CASCADE')
    await run(sql, 'DROP TABLE pg_temp.outbox, pg_temp.partners, pg_temp.days')
    return row!.uid
  })
  assert.ok(await isStored(uid))
})

/** Inside a transaction that is undone, as the role that `grants` makes. */
async function asPublisher(grants: string, work: (sql: Sql) => Promise<void>): Promise<void> {
  const undone = new Error('undone')
  const { db } = house.gateway.context
  const all = db.transaction(async (sql) => {
    await sql.script(grants)
    await run(sql, 'SET LOCAL ROLE ledger')
    await work(sql)
    throw undone
  })
  await assert.rejects(all, (error) => error === undone)
}

const [, documented] = /```sql\n(CREATE ROLE ledger .+?)```/s.exec(readFileSync('docs/delivery.md', 'utf8'))!

test('a role that may execute publish_event needs nothing else, and may do nothing else', async () => {
  await asPublisher(documented!, async (sql) => {
    const [row] = await ask<{ uid: string }>(sql, publishEvent, argumentsFor(good('TRANSACTION')))
    assert.match(row!.uid, /^[0-9a-f-]{36}$/)
    await run(sql, 'SAVEPOINT here')
    for (const text of [
      'SELECT FROM public.log',
      'DELETE FROM public.outbox',
      'SELECT public.open_day(1)',
      `SELECT public.drop_day('log', 0)`,
      `SELECT public.store_event('live', ${branch.branchId}, 'AUTHORIZATION', 'GRANTED', '1', '{}')`,
    ]) {
      await assert.rejects(run(sql, text), /permission denied/, text)
      await run(sql, 'ROLLBACK TO here')
    }
  })
})

test('a role that was not given publish_event may not call it', async () => {
  await asPublisher('CREATE ROLE ledger', async (sql) => {
    await run(sql, 'SAVEPOINT here')
    await assert.rejects(
      ask(sql, publishEvent, argumentsFor(good('TRANSACTION'))),
      /permission denied for function/,
    )
    await run(sql, 'ROLLBACK TO here')
  })
})

test("every function that runs with the rights of its owner has a search path of its own and is not everybody's", async () => {
  const rows = await ask<{ name: string; path: string; open: boolean }>(
    house.gateway.context.db,
    `SELECT proname AS name, (SELECT setting FROM unnest(proconfig) AS setting
        WHERE setting LIKE 'search_path=%') AS path, has_function_privilege('public', oid, 'EXECUTE') AS open
       FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace ORDER BY name`,
  )
  assert.deepEqual(
    rows,
    ['drop_day', 'empty_calls', 'open_day', 'provision', 'publish_event'].map((name) => ({
      name,
      path: 'search_path=public, pg_temp',
      open: false,
    })),
  )
})

test('every action of every kind is published, with its body byte for byte', async () => {
  const { db } = house.gateway.context
  for (const kind of kinds.filter(isPublishedKind)) {
    for (const action of (payloads[kind].properties.action as unknown as { enum: string[] }).enum) {
      const body = good(kind, { action })
      const text = JSON.stringify(body, null, 1)
      const [row] = await ask<{ uid: string }>(db, publishEvent, argumentsFor(body, text))
      const [event] = await ask<{ body: string; entity: string }>(
        db,
        'SELECT body, entity FROM outbox WHERE uid = $1',
        [row!.uid],
      )
      assert.deepEqual(event, { body: text, entity: `${kind.toLowerCase()}:${body[idField[kind]]}` })
    }
  }
})

/** What may be in a field instead of what should be: for each kind, each field, each of these. */
const strangers = [
  null,
  '',
  'x',
  '7',
  0,
  -1,
  1.5,
  7,
  2 ** 53,
  true,
  [],
  {},
  'x'.repeat(101),
  'a@b',
  'a b@example.com',
  `${'a'.repeat(320)}@example.com`,
]

test('publish_event takes the bodies that the API takes, and no others', async () => {
  const { db } = house.gateway.context
  for (const kind of kinds.filter(isPublishedKind)) {
    const fields = Object.keys(payloads[kind].properties)
    const changed = [
      ...fields.flatMap((field) => strangers.map((value) => good(kind, { [field]: value }))),
      ...fields.map((field) => {
        const { [field]: _, ...rest } = good(kind)
        return rest
      }),
      good(kind, { another: 1 }),
    ]
    for (const body of changed) {
      const whole = argumentsFor({ ...good(kind), ...body, type: kind }, JSON.stringify(body))
      const bySql = await ask(db, publishEvent, whole).then(
        () => true,
        () => false,
      )
      const answer = await callJson(
        `${house.internalUrl}/internal/v1/events`,
        'POST',
        { events: [body] },
        ledger,
      )
      assert.equal(bySql, answer.status === 202, `${JSON.stringify(body)}: ${answer.text}`)
    }
  }
})

const faults: readonly (readonly [string, (all: unknown[]) => unknown[], RegExp])[] = [
  ['an environment that is none', (all) => all.with(0, 'staging'), /environment must be live or sandbox/],
  ['no environment', (all) => all.with(0, null), /environment must be live or sandbox/],
  ['a branch that is none', (all) => all.with(1, 999_999), /branch_id names no branch: 999999/],
  ['no branch', (all) => all.with(1, null), /branch_id names no branch/],
  [
    'a kind that is none',
    (all) => all.with(2, 'TRANSFER'),
    /kind must be TRANSACTION, APPLICATION or ACH_PROFILE/,
  ],
  ['what account holders approve', (all) => all.with(2, 'AUTHORIZATION'), /kind must be TRANSACTION/],
  ['no kind', (all) => all.with(2, null), /kind must be TRANSACTION/],
  [
    'an action of another kind',
    (all) => all.with(3, 'MICRODEPOSITS_POSTED'),
    /action must be one of SUBMITTED, APPROVED, COMPLETED/,
  ],
  ['no action', (all) => all.with(3, null), /action must be one of/],
  ['an id that is none', (all) => all.with(4, '4 2'), /entity_id must be/],
  ['an id beyond what JSON numbers carry', (all) => all.with(4, '9007199254740993'), /entity_id must be/],
  ['no id', (all) => all.with(4, null), /entity_id must be/],
  ['another id than the body', (all) => all.with(4, '43'), /body: transactionId must be entity_id/],
  ['no body', (all) => all.with(5, null), /body is missing/],
  ['what is not JSON', (all) => all.with(5, '{'), /body is not JSON/],
  ['a number that nobody can hold', (all) => all.with(5, '{"amount": 1e999999}'), /body is not JSON/],
  ['arrays in arrays', (all) => all.with(5, '['.repeat(60_000)), /body is not JSON/],
  ['a list', (all) => all.with(5, '[]'), /body must be an object/],
  [
    'a field twice',
    (all) => all.with(5, (all[5] as string).replace('{', '{"amount":1,')),
    /body has amount twice/,
  ],
  [
    '64 KiB and a byte',
    (all) => all.with(5, (all[5] as string).padEnd(65_537)),
    /body is too long: 65537 bytes, at most 65536/,
  ],
]

for (const [what, change, message] of faults) {
  test(`publish_event refuses ${what}, and says which argument is at fault`, async () => {
    const values = argumentsFor(good('TRANSACTION', { transactionId: 42 }))
    await assert.rejects(ask(house.gateway.context.db, publishEvent, change(values)), message)
  })
}

test('a body of 64 KiB is published', async () => {
  const body = good('TRANSACTION')
  const [row] = await ask<{ uid: string }>(
    house.gateway.context.db,
    publishEvent,
    argumentsFor(body, JSON.stringify(body).padEnd(65_536)),
  )
  assert.ok(await isStored(row!.uid))
})
