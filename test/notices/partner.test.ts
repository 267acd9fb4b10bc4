/**
 * What a partner's members are told: a webhook that fails, one that was disabled, a client secret that ends.
 * Each once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDue } from '../../src/alerts/due.ts'
import { day, hour, minute } from '../../src/clock.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import { revokeSecret, rotateSecret } from '../../src/partners/client-secret.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { declineNotices } from '../../src/users/email.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { rotateWebhookSecret } from '../../src/webhooks/subscriptions/webhook.ts'
import { tellDue } from '../support/alerts.ts'
import { failDeliveries } from '../support/by-hand.ts'
import { untilDisabled } from '../support/disabled.ts'
import { entities, openEngine } from '../support/engine.ts'
import { followByHand } from '../support/follow.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeReader, type NoticeRow, noticesOf } from '../support/notices.ts'
import { answer, fail } from '../support/receiver.ts'

const engine = await keepOpen(openEngine())

const db = () => engine.db
const now = () => engine.house.clock.now()
/** What else came up at that moment, of the tests before, is told in the same mail. */
const told = async (user: User, kind: string) =>
  (await noticesOf(db(), user))
    .flatMap((row) => (kind === 'alerts' ? row : openDigest(row)))
    .filter((row) => row.kind === kind)

function openDigest(row: NoticeRow): NoticeRow[] {
  if (row.kind !== 'alerts') return [row]
  const alerts = row.facts.alerts as { kind: string; facts: NoticeRow['facts'] }[]
  return alerts.map(({ kind, facts }) => ({
    ...row,
    kind: kind === 'expiring' ? 'secret-expiring' : `webhook-${kind}`,
    facts,
  }))
}

const addresses = { live: 'https://api.broker.example', sandbox: 'https://sandbox.broker.example' }
const wordsOf = (row: NoticeRow, { name }: User) =>
  noticeWords(
    { ...row, name, key: 'k' } as unknown as Parameters<typeof noticeWords>[0],
    addresses,
    engine.house.gateway.context.vault,
  )

async function makeMember(): Promise<User> {
  const reader = await makeReader(engine.house)
  await addMember(db(), await getPartner(db(), String(engine.branchId)), reader, engine.house.act())
  return reader
}

/** As a partner is told unless it chooses otherwise. */
const failingMs = hour

const watch = () => tellDue(engine.house)

test('a webhook that has been failing for an hour is told to every member once, and again when it fails anew', async () => {
  const members = [await makeMember(), await makeMember()]
  const silent = await engine.house.makeUser()
  await addMember(db(), await getPartner(db(), String(engine.branchId)), silent, engine.house.act())
  const stranger = await makeReader(engine.house)
  engine.receiver.on('/down?token=hunter2', fail)
  const webhook = await engine.makeWebhook('/down?token=hunter2')
  await engine.publish(...entities(10))
  await engine.idle()
  const toldOnce = async (times: number) => {
    await watch()
    for (const member of members) assert.equal((await told(member, 'webhook-failing')).length, times)
  }
  await toldOnce(0)
  engine.house.clock.advance(failingMs - minute)
  await toldOnce(0)
  engine.house.clock.advance(minute)
  await toldOnce(1)
  await toldOnce(1)
  for (const member of members) {
    const [notice] = await told(member, 'webhook-failing')
    assert.equal(notice!.facts.webhookId, webhook.id)
    const { text } = wordsOf(notice!, member)
    assert.match(
      text,
      new RegExp(
        `See why at https://api\\.broker\\.example/partner/\\d+/webhooks/${webhook.id}/incident and`,
      ),
    )
  }
  for (const user of [stranger, silent]) assert.deepEqual(await noticesOf(db(), user), [])
  // Who has the lane in hand would write down again what it knows.
  await engine.idle()
  await engine.sql('UPDATE cursors SET failing_since = $2 WHERE webhook_id = $1', [webhook.id, now()])
  engine.house.clock.advance(failingMs)
  await toldOnce(2)
})

test('a webhook that is paused, or failed a moment ago, is not told', async () => {
  const member = await makeMember()
  const webhook = await engine.makeWebhook('/quiet')
  const set = async (failures: number, failing: number, state: string, agoMs = day) => {
    await engine.sql('UPDATE webhooks SET state = $2 WHERE id = $1', [webhook.id, state])
    await engine.db.script(followByHand)
    await engine.sql('DELETE FROM exceptions WHERE webhook_id = $1', [webhook.id])
    const since = new Date(now().getTime() - agoMs)
    await failDeliveries(engine.house, webhook.id, { failures, since, entities: failing })
  }
  const about = async () =>
    (await told(member, 'webhook-failing')).filter(({ facts }) => facts.webhookId === webhook.id)
  for (const [failures, failing, state, agoMs] of [
    [12, 3, 'active', minute],
    [12, 3, 'paused', day],
  ] as const) {
    await set(failures, failing, state, agoMs)
    await watch()
    assert.deepEqual(await about(), [])
  }
  await set(12, 3, 'active')
  await watch()
  assert.equal((await about()).length, 1)
})

test('a webhook that is disabled is told once, however many answers disable it', async () => {
  const member = await makeMember()
  engine.receiver.on('/gone', answer(410))
  const webhook = await engine.makeWebhook('/gone')
  await engine.publish(...entities(10, 'gone'))
  await untilDisabled(engine.db, webhook.id)
  await engine.idle()
  await watch()
  const about = (await told(member, 'webhook-disabled')).filter(({ facts }) => facts.webhookId === webhook.id)
  assert.equal(about.length, 1)
  assert.match(String(about[0]!.facts.reason), /410/)
})

test('a client secret that ends is told a day before, once; one that was revoked is not', async () => {
  const member = await makeMember()
  const { house, client } = engine
  const { vault } = house.gateway.context
  await rotateSecret(db(), vault, client, { overlapMs: 3 * day }, engine.house.act())
  const toldOf = async (times: number) => {
    await watch()
    assert.equal((await told(member, 'secret-expiring')).length, times)
  }
  await toldOf(0)
  house.clock.advance(2 * day)
  await toldOf(1)
  await toldOf(1)
  const [notice] = await told(member, 'secret-expiring')
  assert.equal(notice!.facts.client, 'Portfolio Pal')
  assert.ok(!JSON.stringify(notice!.facts).includes(client.secret))
  house.clock.advance(2 * day)
  await toldOf(1)

  const other = await house.makeClient({ partner: await getPartner(db(), String(engine.branchId)) })
  await rotateSecret(db(), vault, other, { overlapMs: hour }, engine.house.act())
  const [old] = await engine.sql<{ id: number }>(
    'SELECT min(id) AS id FROM client_secrets WHERE client_id = $1',
    [other.id],
  )
  await revokeSecret(db(), other, old!.id, engine.house.act())
  await toldOf(1)
})

test('a signing secret that was replaced is told a day before it ends, and so is a client’s that signed before it', async () => {
  const member = await makeMember()
  const { house } = engine
  const { context } = house.gateway
  const webhook = await engine.makeWebhook('/rotated', { branchId: engine.branchId })
  const about = async () => {
    await watch()
    return (await told(member, 'secret-expiring')).filter(({ facts }) => facts.webhookId === webhook.id)
  }
  const rotate = (secret: string) =>
    rotateWebhookSecret(
      { ...context, policy: context.guard },
      webhook,
      secret,
      new Date(now().getTime() + 2 * day),
      house.act(),
    )
  await rotate('first-secret-of-its-own-0123456789')
  assert.deepEqual(await about(), [], 'the switch is in two days')
  house.clock.advance(2 * day)
  const [first] = await about()
  assert.equal(Date.parse(String(first!.facts.endsAt)), now().getTime() + day)
  house.clock.advance(2 * day)
  await rotate('second-secret-of-its-own-0123456789')
  assert.equal((await about()).length, 1)
  house.clock.advance(2 * day)
  const both = await about()
  assert.equal(both.length, 2)
  const { text } = wordsOf(both[1]!, member)
  assert.match(text, new RegExp(`webhooks/${webhook.id}\\b`))
  assert.doesNotMatch(text, /secret-of-its-own|\/rotated/)
  assert.doesNotMatch(JSON.stringify(both), /secret-of-its-own/)
  house.clock.advance(2 * day)
  assert.equal((await about()).length, 2, 'each once')
})

test('what fails at once is one mail, without kinds that a member declined, and nothing is left out', async () => {
  // Webhooks of the tests before may be tried again at any moment and recover; what is left is told before these
  // are members.
  await engine.sql(`UPDATE webhooks SET state = 'deleted', disabled_reason = NULL`)
  await engine.db.script(followByHand)
  await engine.idle()
  engine.house.clock.advance(minute)
  await watch()
  const [declines, disabled, reads] = [await makeMember(), await makeMember(), await makeMember()]
  await declineNotices(db(), declines, ['webhook-failing'], engine.house.act())
  await setUserStatus(db(), disabled, 'disabled', engine.house.act())
  const failing: number[] = []
  // Due together, however long this takes: the gateway looks each minute too.
  const since = new Date(now().getTime() - failingMs + minute)
  for (let n = 0; n < 60; n++) failing.push((await engine.makeWebhook(`/many/${n}`)).id)
  // Who has a lane in hand would write down again what it knows.
  await engine.idle()
  for (const id of failing) await failDeliveries(engine.house, id, { failures: 12, since, entities: 3 })
  engine.house.clock.advance(minute)
  await watch()
  assert.deepEqual(await noticesOf(db(), declines), [])
  assert.deepEqual(await noticesOf(db(), disabled), [])
  const [digest, ...more] = await told(reads, 'alerts')
  const kinds = (await noticesOf(db(), reads)).map(({ kind }) => kind)
  assert.deepEqual([more, kinds.filter((kind) => kind === 'webhook-failing')], [[], []])
  const { alerts, more: beyond } = digest!.facts as { alerts: unknown[]; more: number }
  assert.deepEqual([alerts.length, beyond], [50, 10])
  const { subject, text } = wordsOf(digest!, reads)
  assert.match(subject, /^60 alerts/)
  assert.match(text, new RegExp(`/webhooks/${failing[0]}/incident`))
  assert.match(text, /And 10 more/)
  assert.doesNotMatch(text, /\/many\//)
})

test('beyond twenty mails of alerts in an hour a partner’s wait, and come as one', async () => {
  const member = await makeMember()
  const [mail] = await engine.sql<{ id: number }>(
    `UPDATE alert_targets SET wait_minutes = 0 WHERE branch_id = $1 AND environment = 'live' AND kind = 'mail'
     RETURNING id`,
    [engine.branchId],
  )
  engine.house.clock.advance(2 * hour)
  await engine.sql(
    `INSERT INTO alerts (target_id, kind, key, facts, state, due_at, claim_id, claimed_at, attempts, created_at)
     SELECT $1, 'lag', 'sent:' || n, '{}', 'sent', $2, gen_random_uuid(), $2, 1, $2 FROM generate_series(1, 20) AS n`,
    [mail!.id, now()],
  )
  const failing: number[] = []
  for (let n = 0; n < 3; n++) {
    const webhook = await engine.makeWebhook(`/beyond/${n}`)
    failing.push(webhook.id)
    await engine.idle()
    await failDeliveries(engine.house, webhook.id, { failures: 12, since: now(), entities: 3 })
    await findDue(db(), now())
  }
  assert.deepEqual(await noticesOf(db(), member), [])
  engine.house.clock.advance(hour + minute)
  await watch()
  const notices = await noticesOf(db(), member)
  assert.deepEqual(
    notices.map(({ kind }) => kind),
    ['alerts'],
  )
  // Webhooks of before may have come right meanwhile.
  const alerts = notices[0]!.facts.alerts as { kind: string; facts: { webhookId: number } }[]
  const toldOf = alerts.filter(({ kind }) => kind === 'failing').map(({ facts }) => facts.webhookId)
  assert.deepEqual(toldOf, failing)
})
