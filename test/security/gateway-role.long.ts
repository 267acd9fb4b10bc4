/** ops/gateway-role.sql: the gateway as a role that does not own the audit log, and cannot change it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openAnchorWriter } from '../../src/audit/anchor.ts'
import { compareAnchors } from '../../src/audit/anchor-check.ts'
import { sealAll, verifyChain } from '../../src/audit/chain.ts'
import { day, after as later } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { emptyNextCalls } from '../../src/partners/calls.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { ask } from '../support/ask.ts'
import { callJson, transaction } from '../support/branch.ts'
import { isAtRest } from '../support/by-hand.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { makeFolder, runCommand } from '../support/process.ts'
import { openReceiver } from '../support/receiver.ts'

const role = 'countersign_gateway'
const script = readFileSync(new URL('../../ops/gateway-role.sql', import.meta.url), 'utf8')
const file = `${makeFolder()}/audit.anchors`

const database = await keepOpen(openTestDatabase())
const owner = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 1 }))
await owner.script(script)
await keepOpen({ close: () => owner.script(`DROP OWNED BY ${role}; DROP ROLE ${role}`) })
const url = database.url.replace('//countersign@', `//${role}@`)
assert.notEqual(url, database.url)
const house = await openHouse({ DATABASE_URL: url, WEBHOOK_ALLOW_LOOPBACK: 'true', AUDIT_ANCHOR_FILE: file })

test('the gateway does its work as that role: approvals, tokens, deliveries, replays, housekeeping, the chain', async (t) => {
  const { context } = house.gateway
  const { db, vault, clock, log, config, callLog } = context
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const partner = await openPartner(house)
  const code = await house.makeCode(partner.client)
  const tokens = (await house.exchange(partner.client, code)).json<TokenBody>()
  assert.equal((await house.profile(tokens.access_token)).status, 200)
  const { webhookId, deliveryId } = await deliverOne(partner, receiver)
  await partner.program.fire(transaction())
  const call = (method: 'POST' | 'DELETE', path: string, body?: object) =>
    callJson(`${house.baseUrl}${path}`, method, body, basic(partner.client))
  assert.equal((await call('POST', `/v2/deliveries/${deliveryId}/redeliver`)).status, 202)
  assert.equal((await call('POST', `/v2/webhooks/${webhookId}/replays`, { from: 0 })).status, 201)
  await eventually('what was replayed is sent', () => isAtRest(db, clock.now()))
  assert.equal((await call('DELETE', '/v2/webhooks/999999')).status, 404)
  assert.equal((await call('DELETE', `/v2/webhooks/${webhookId}`)).status, 204)
  await callLog.flush()
  const noted = () => ask(db, 'SELECT FROM calls')
  assert.ok((await noted()).length > 0)
  await emptyNextCalls(db, later(clock.now(), -day))
  assert.deepEqual(await noted(), [])
  await removeDead(context)
  await retireOnce(db, config.webhooks, clock.now())
  assert.ok((await retireOnce(db, config.webhooks, later(clock.now(), 92 * day))).days >= 4)
  await sealAll(db, clock.now())
  assert.equal((await verifyChain(db, clock.now())).kind, 'intact')
  await openAnchorWriter({ db, vault, clock, log, file }).write()
  assert.deepEqual((await compareAnchors(db, vault, file))?.problems, [])
})

test('commands run as that role, and find nothing to migrate', async () => {
  const settings = { ...house.settings, AUDIT_ANCHOR_FILE: file }
  const [listed, verified, migrated] = [
    await runCommand(['partner', 'list', '--json'], settings),
    await runCommand(['audit', 'verify', '--json'], settings),
    await runCommand(['migrate', '--json'], settings),
  ]
  assert.deepEqual([listed.code, verified.code, migrated.code], [0, 0, 0], verified.stderr)
})

test('what is in the audit log can be neither changed nor removed by that role, nor its guards taken away', async () => {
  const { db } = house.gateway.context
  const attempts = [
    "UPDATE audit_entries SET actor = 'nobody'",
    'DELETE FROM audit_entries',
    'TRUNCATE audit_entries',
    "UPDATE audit_blocks SET sealed_at = '2020-01-01'",
    'DELETE FROM audit_blocks',
    'TRUNCATE audit_blocks, audit_entries',
    'DELETE FROM audit_heads',
    "UPDATE audit_heads SET at = '2020-01-01'",
    'ALTER TABLE audit_entries DISABLE TRIGGER ALL',
    'ALTER TABLE audit_blocks DISABLE TRIGGER audit_blocks_append_only',
    'DROP TRIGGER audit_entries_append_only ON audit_entries',
    'SET session_replication_role = replica',
    'CREATE OR REPLACE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
    'DROP TABLE audit_entries CASCADE',
    'DELETE FROM audit_anchor_keys',
    'DELETE FROM schema_migrations',
    'CREATE TABLE audit_entries_too (id integer)',
    'GRANT ALL ON audit_entries TO public',
    'SET ROLE countersign',
  ]
  for (const text of attempts) {
    // 42501 is "insufficient privilege"; a grant of what one has no right to is a warning that grants
    // nothing.
    const code = await db.script(text).then(
      () => 'done',
      (error: { code?: string }) => error.code,
    )
    if (code !== '42501') assert.match(text, /^GRANT/, `${text}: ${code}`)
  }
  await assert.rejects(db.script('DELETE FROM audit_entries'), { code: '42501' })
})

test('a schema that is behind is told to that role in a sentence: its owner migrates', async () => {
  await owner.script(`CREATE TABLE kept AS SELECT * FROM schema_migrations ORDER BY version DESC LIMIT 1;
    DELETE FROM schema_migrations WHERE version IN (SELECT version FROM kept)`)
  const { code, stderr } = await runCommand(['service', 'create', '--name', 'orders'], house.settings)
  await owner.script('INSERT INTO schema_migrations SELECT * FROM kept; DROP TABLE kept')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^The database has to be migrated, .* Run "countersign migrate" as the role that owns the tables\.\n$/,
  )
})
