/**
 * What is no fault at all, and goes on beside the traffic for as long as it likes: reports, dumps, deletions,
 * replays, nodes that come and go.
 */

import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { second } from '../../../src/clock.ts'
import { deleteWebhook, getWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../../support/ask.ts'
import { type Answer, send } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { followByHand } from '../../support/follow.ts'
import { basic, operatorAct } from '../../support/gateway.ts'
import { testTimeoutMs } from '../../support/timeout.ts'
import type { House } from './house.ts'
import { urlOf } from './postgres.ts'
import type { Scenario } from './scenarios.ts'

export const ordinaryLife: readonly Scenario[] = [
  {
    name: 'a report that holds its snapshot open',
    when: 'at length',
    inject: (house, faultMs) => withSnapshot(house, () => wait(faultMs)),
  },
  {
    // PostgreSQL as it comes with npm brings no pg_dump: the same locks and the same reading, without writing
    // it to a file.
    name: 'a dump (every table locked and copied in one snapshot), again and again',
    async inject(house, faultMs) {
      const until = performance.now() + faultMs
      while (performance.now() < until) await withSnapshot(house, dumpAll)
    },
  },
  {
    name: 'a webhook deleted for which a million wait (4,000 in the short form)',
    inject: (house, _faultMs, _disk, waiting) => deleteWithBacklog(house, waiting),
  },
  {
    name: 'a node added to a backlog, then killed',
    prepare: () => ({ options: { hooks: Array.from({ length: 30 }, (_, place) => `/hook-${place}`) } }),
    inject: addAndRemove,
  },
  {
    name: 'replays and redeliveries all the while',
    inject: sendAgainAllTheWhile,
  },
]

async function withSnapshot(house: House, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf([house.pair.primary.port]) })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await client.query('SELECT count(*) FROM log')
    await work(client)
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
}

async function dumpAll(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`,
  )
  const names = rows.map(({ name }) => name)
  await client.query(`LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE`)
  for (const name of names) await client.query(`COPY ${name} TO '/dev/null'`)
}

/**
 * Of the same branch as the traffic, and so in its part. It is paused, so that what waits for it goes on
 * waiting.
 */
const makeDoomed = `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, state, created_at, updated_at)
   VALUES ($1, 'live', $2, 'http://127.0.0.1:1/doomed', '{ACH_PROFILE}', 'paused', now(), now())
     RETURNING id`

/** Nobody else wants them. */
const fillOutbox = `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
   SELECT part_of($1), feed_of($1, 'live'), now(), 'ACH_PROFILE', 'CREATED', 'ach_profile:' || n, '{}'
     FROM generate_series(1, $2::int) n`

const selectWaiting = `SELECT count(*) AS waiting FROM log l JOIN cursors c ON c.part = l.part AND c.feed = l.feed
    AND c.webhook_id = $1 WHERE l.kind = 'ACH_PROFILE' AND l.seq > c.position`

const selectLeft = `SELECT FROM cursors WHERE webhook_id = $1 UNION ALL SELECT FROM exceptions WHERE webhook_id = $1 UNION ALL
    SELECT FROM filters WHERE webhook_id = $1`

const fillAtOnce = 50_000
const numberedWithinMs = 300 * second
/** A deletion takes as long however much waits. */
const deletedWithinMs = 5 * second
const lanesWithinMs = 60 * second

async function deleteWithBacklog({ db, branchId, client }: House, waiting: number): Promise<void> {
  const [doomed] = await ask<{ id: number }>(db, makeDoomed, [branchId, client.id])
  const { id } = doomed!
  await db.script(followByHand)
  for (let filled = 0; filled < waiting; filled += fillAtOnce)
    await ask(db, fillOutbox, [branchId, Math.min(fillAtOnce, waiting - filled)])
  const areNumbered = async () =>
    (await ask<{ waiting: number }>(db, selectWaiting, [id]))[0]!.waiting === waiting
  await eventually('everything waits for the webhook', areNumbered, numberedWithinMs)
  const webhook = await getWebhook(db, { branchId, environment: 'live' }, id)
  const startedMs = performance.now()
  await deleteWebhook(db, webhook, operatorAct(new Date()))
  const tookMs = performance.now() - startedMs
  if (tookMs > deletedWithinMs) throw new Error(`a deletion took ${Math.round(tookMs)} ms`)
  if ((await ask(db, selectLeft, [id])).length > 0) throw new Error('something of the webhook is left')
}

const selectWorkers = 'SELECT id FROM workers WHERE lanes > 0'

/** Receivers take their time, so that there is a backlog in which lanes can move. */
async function addAndRemove(house: House, faultMs: number): Promise<void> {
  const { nodes, hooks, receiver, db } = house
  const last = nodes.at(-1)!
  for (const path of hooks) receiver.on(path, (_, response) => void setTimeout(() => response.end(), 100))
  await last.gateway.stop()
  await wait(faultMs)
  await last.restart()
  const served = new Set<string>()
  const haveAllServed = async () => {
    for (const { id } of await ask<{ id: string }>(db, selectWorkers)) served.add(id)
    return served.size >= nodes.length
  }
  await eventually('every node has had lanes', haveAllServed, lanesWithinMs)
  last.gateway.kill('SIGKILL')
  await last.gateway.ended
  await wait(faultMs)
  for (const path of hooks) receiver.on(path, (_, response) => void response.end())
  await last.restart()
}

/** As the partner does it, at any node. */
async function sendAgainAllTheWhile(house: House, faultMs: number): Promise<void> {
  const until = performance.now() + faultMs
  const asked = { redeliveries: 0, replays: 0 }
  const hasAsked = () => asked.redeliveries > 0 && asked.replays > 0
  // On a slow machine a turn may take as long as all of them should: it goes on until there was something to
  // tell.
  for (let turn = 0; performance.now() < (hasAsked() ? until : until + testTimeoutMs); turn++) {
    const at = (method: 'GET' | 'POST', path: string, body?: object) =>
      callAsPartner(house, `${house.nodes[turn % house.nodes.length]!.origin}${path}`, method, body)
    const { webhooks } = (await at('GET', '/v2/webhooks')).json<{ webhooks: { id: number }[] }>()
    const { id } = webhooks[turn % webhooks.length]!
    // What waits behind another cannot be sent again; where replays are quicker than receivers, that is all
    // the newest.
    const { deliveries } = (await at('GET', `/v2/webhooks/${id}/deliveries?state=delivered`)).json<{
      deliveries: { id: string }[]
    }>()
    for (const delivery of deliveries.slice(0, 5))
      if ((await at('POST', `/v2/deliveries/${delivery.id}/redeliver`)).status === 202) asked.redeliveries++
    if ((await at('POST', `/v2/webhooks/${id}/replays`, { from: 0 })).status === 201) asked.replays++
  }
  if (!hasAsked()) throw new Error(`nothing was asked for: ${JSON.stringify(asked)}`)
}

function callAsPartner(
  { client }: House,
  url: string,
  method: 'GET' | 'POST',
  body?: object,
): Promise<Answer> {
  const headers = { ...basic(client), ...(body && { 'content-type': 'application/json' }) }
  return send(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
}
