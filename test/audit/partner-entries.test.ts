/** What members and programs of a partner do to deliveries and invitations leaves its entries too. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditAction } from '../../src/audit/action.ts'
import { type AuditEntry, findEntries } from '../../src/audit/audit.ts'
import { inviteMember, listInvitations } from '../../src/partners/invitation.ts'
import { ask } from '../support/ask.ts'

import { callJson } from '../support/branch.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { readInvitation } from '../support/members.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'
import { countRows } from '../support/web.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)

const db = () => house.gateway.context.db
const find = (action: AuditAction, subject: string): Promise<AuditEntry[]> =>
  findEntries(db(), { action, subject })

test('a redelivery is recorded with its delivery, by the program and on the page', async () => {
  const { webhookId, deliveryId } = await deliverOne(own, receiver)
  const again = () => find('webhook.redelivered', `webhook:${webhookId}`)
  await callJson(
    `${house.baseUrl}/v2/deliveries/${deliveryId}/redeliver`,
    'POST',
    undefined,
    basic(own.client),
  )
  assert.deepEqual(
    (await again()).map(({ actor, details }) => ({ actor, details })),
    [{ actor: `client:${own.client.id}`, details: { deliveryId } }],
  )
  const page = await own.browser.get(`${own.home}/deliveries/${deliveryId}`)
  await own.browser.submit(page, `${own.home}/deliveries/${deliveryId}/redeliver`, {})
  assert.deepEqual(
    (await again()).map(({ actor }) => actor),
    [`user:${own.user.id}`, `client:${own.client.id}`],
  )
})

const insertRunning = `INSERT INTO replay_cursors (part, webhook_id, round, position, last, created_at)
   SELECT part, webhook_id, (SELECT count(*) + 100 FROM replay_cursors), 0, 1, $2 FROM cursors
     WHERE webhook_id = $1 RETURNING round AS id`

/** A gateway takes a replay within a second: what it was quicker with is tried again. */
async function cancelOne(webhookId: number): Promise<number> {
  for (;;) {
    const [replay] = await ask<{ id: number }>(db(), insertRunning, [webhookId, house.clock.now()])
    const path = `/v2/webhooks/${webhookId}/replays/${replay!.id}`
    const answer = await callJson(`${house.baseUrl}${path}`, 'DELETE', undefined, basic(own.client))
    if (answer.json<{ state: string }>().state === 'canceled') return replay!.id
  }
}

test('a replay that is canceled is recorded, and canceling it again is not', async () => {
  const { webhookId } = await deliverOne(own, receiver, '/more')
  const replayId = await cancelOne(webhookId)
  const path = `/v2/webhooks/${webhookId}/replays/${replayId}`
  await callJson(`${house.baseUrl}${path}`, 'DELETE', undefined, basic(own.client))
  const entries = await find('webhook.replay_canceled', `webhook:${webhookId}`)
  assert.deepEqual(
    entries.map(({ actor, details }) => ({ actor, details })),
    [{ actor: `client:${own.client.id}`, details: { replayId } }],
  )
})

test('invitations that are declined or withdrawn are recorded, in the act itself', async () => {
  for (const email of ['invited@example.com', 'other@example.com'])
    await inviteMember(house.gateway.context, own.partner, { email, role: 'viewer' }, house.act())
  const { path } = await readInvitation(house, 'invited@example.com')
  const [, other] = await listInvitations(db(), own.partner, house.clock.now())
  const invited = await house.makeUser()
  const browser = await house.signIn(invited)
  const [entry, members] = [await browser.get(path), await own.browser.get(`${own.home}/members`)]
  const decline = () => browser.submit(entry, `${path}/decline`, {})
  const withdraw = () =>
    own.browser.submit(members, `${own.home}/members/uninvite`, { invitation: String(other!.id) })
  await db().script('ALTER TABLE audit_entries ADD CONSTRAINT full_disk CHECK (false) NOT VALID')
  assert.deepEqual([(await decline()).status, (await withdraw()).status], [500, 500])
  assert.equal(await countRows(db(), 'invitations'), 2, 'nothing happens without its entry')
  await db().script('ALTER TABLE audit_entries DROP CONSTRAINT full_disk')
  assert.deepEqual([(await decline()).status, (await withdraw()).status], [303, 303])
  const subject = `branch:${own.partner.branchId}`
  const [declined] = await find('partner.invitation_declined', subject)
  const [withdrawn] = await find('partner.invitation_withdrawn', subject)
  assert.deepEqual(
    [declined?.actor, declined?.details],
    [`user:${invited.id}`, { to: 'i…@example.com', role: 'viewer' }],
  )
  assert.deepEqual(
    [withdrawn?.actor, withdrawn?.details],
    [`user:${own.user.id}`, { to: 'o…@example.com', role: 'viewer' }],
  )
})
