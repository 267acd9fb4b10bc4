/** Every page that links lead to, with something of each state to show, in today's words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { listWebhooks } from '../../src/webhooks/subscriptions/webhook.ts'
import { transaction } from '../support/branch.ts'
import { deliveriesOf, endDelivery, failDeliveries, numberEvents } from '../support/by-hand.ts'
import { crawl, makeEverything } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'
import { oldOnPages } from '../support/old-words.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
const everybody = await makeEverything(house)

/** One that failed after all retries, one behind another, and a webhook that is retried once a minute. */
async function makeTroubles(): Promise<void> {
  const { branchId } = everybody.own.partner
  const { db } = house.gateway.context
  const now = house.clock.now()
  const draft = { environment: 'live', branchId, kind: 'TRANSACTION', action: 'SUBMITTED' } as const
  const body = JSON.stringify(transaction())
  const events = ['transaction:42', 'transaction:43'].map((entity) => ({
    ...draft,
    entity,
    body,
    simulated: false,
  }))
  await insertEvents(db, events, now)
  await numberEvents(house)
  for (const { id } of await listWebhooks(db, { branchId, environment: 'live' }, 0, 10)) {
    await failDeliveries(house, id, { failures: 12, since: now, entities: 3 })
    await endDelivery(house, (await deliveriesOf(house, id)).at(-1)!, 'exhausted')
    // Behind one that fails.
    await insertEvents(
      db,
      [{ ...draft, entity: 'failing:0:test', body, simulated: true, webhookId: id }],
      now,
    )
    await numberEvents(house)
  }
}

/** What is read or heard; not addresses, nor what is quoted as code. */
function wordsOf(text: string): string {
  const body = text.slice(text.indexOf('<title>')).replaceAll(/<(code|pre|script|q)\b[\s\S]*?<\/\1>/g, ' ')
  const heard = [...body.matchAll(/\s(?:aria-label|title|placeholder|data-label)="([^"]*)"/g)].map(
    (match) => match[1],
  )
  return [body.replaceAll(/<[^>]*>/g, ' '), ...heard].join(' ').replaceAll(/\s+/g, ' ')
}

test('no page says a word that was replaced, whatever state it tells of', async () => {
  await makeTroubles()
  const { own } = everybody
  const lists = ['deliveries?state=exhausted', 'deliveries?state=unfinished'].map(
    (list) => `${own.home}/${list}`,
  )
  const starts = [...everybody.starts, ...lists, '/console/webhooks?condition=breaker+open']
  const pages = await crawl(await house.signIn(everybody.user), starts)
  // The reference of the API names states as programs do.
  const all = [...pages]
    .filter(([path]) => !path.endsWith('/reference'))
    .map(([path, { text }]) => [path, wordsOf(text)] as const)
  for (const seen of [
    /failed after all retries/,
    /queued behind #\d/,
    /failing: one retry a minute/,
    /Needs attention/,
  ])
    assert.ok(
      all.some(([, words]) => seen.test(words)),
      `${seen} is on some page`,
    )
  const found = all.flatMap(([path, words]) =>
    oldOnPages.flatMap(([old, then]) => {
      const word = old.exec(words)
      return word ? [`${path}: “${words.slice(word.index - 30, word.index + 40)}” is now “${then}”`] : []
    }),
  )
  assert.deepEqual(found, [])
})
