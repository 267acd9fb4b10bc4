/** What is left of a quarter, held against its ledger. None is the only good answer. */
import { after, day } from '../../src/clock.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { retryWaitsMs } from '../../src/webhooks/outbound/retry-schedule.ts'
import { findBrokenPromises, findOvertaken } from './delivery-promises.ts'
import { policy, type Quarter } from './quarter.ts'
import type { LedgerDelivery } from './quarter-books.ts'
import { pathsOf } from './quarter-receivers.ts'

export async function findProblems(quarter: Quarter): Promise<string[]> {
  const { db } = quarter.engine
  return [
    ...quarter.books.problems,
    ...(await findBrokenPromises(db, quarter.engine.house.clock.now())),
    ...findUnnumbered(quarter),
    ...findMissing(quarter),
    ...findWrongEndings(quarter),
    ...findDisorder(quarter),
    ...(await findWronglyKept(quarter)),
  ]
}

/** Each event has one number, and the numbers of a branch have no gap. */
function findUnnumbered({ books: { events, log }, branches }: Quarter): string[] {
  const times = Map.groupBy(log.values(), ({ uid }) => uid)
  const unnumbered = [...events.keys()].filter((uid) => times.get(uid)?.length !== 1)
  const gaps = branches.filter((branchId) => {
    const numbers = [...log.keys()]
      .filter((key) => key.startsWith(`${branchId}:`))
      .map((key) => Number(key.split(':')[1]))
    return Math.max(0, ...numbers) !== numbers.length
  })
  return [
    ...unnumbered.map((uid) => `event ${uid} has ${times.get(uid)?.length ?? 0} numbers`),
    ...gaps.map((branchId) => `the numbers of branch ${branchId} have a gap`),
  ]
}

/** One delivery for each webhook that wanted the event, and no other but what was asked for again. */
function findMissing({ books: { events, deliveries } }: Quarter): string[] {
  const first = [...deliveries.values()].filter((each) => each.round === 0)
  const found = Map.groupBy(first, (each) => each.uid)
  return [...events.values()].flatMap(({ uid, wantedBy }) => {
    const got = (found.get(uid) ?? []).map((each) => each.webhook_id).sort((a, b) => a - b)
    const wanted = [...wantedBy].sort((a, b) => a - b)
    return String(got) === String(wanted)
      ? []
      : [`event ${uid} was wanted by ${wanted}, has deliveries for ${got}`]
  })
}

function findWrongEndings(quarter: Quarter): string[] {
  return [...quarter.books.deliveries.values()].flatMap((delivery) => {
    const problem = judge(quarter, delivery)
    return problem ? [`delivery ${delivery.id} (${delivery.state}) ${problem}`] : []
  })
}

function judge({ books, receivers, engine }: Quarter, delivery: LedgerDelivery): string | undefined {
  const { id, webhook_id, uid, state, attempts } = delivery
  if (state === 'delivered')
    return receivers.accepted.has(`${webhook_id} ${printEventId(uid)}`) ? undefined : 'was never accepted'
  if (state === 'exhausted') return attempts > retryWaitsMs.length ? undefined : 'was given up too early'
  if (state === 'canceled') return books.skipped.has(id) ? undefined : 'was skipped by nobody'
  const isOld = delivery.day < oldestDay(engine.house.clock.now())
  if (state === 'expired') return isOld ? undefined : 'is not old'
  // What goes with its webhook, or with its day, is not seen to end.
  const isDeleted = receivers.hooks.find((hook) => hook.webhook.id === webhook_id)!.isDeleted
  return isDeleted || isOld ? undefined : 'has not ended'
}

function oldestDay(now: Date): number {
  return dayOf(after(now, -policy.eventDays * day))
}

/**
 * Of an entity, events reach a webhook for the first time in the order in which they were published; but for
 * what was only ever sent again.
 */
function findDisorder({ receivers: { hooks }, books: { events, deliveries }, engine }: Quarter): string[] {
  const byPrinted = new Map([...events.values()].map((event) => [printEventId(event.uid), event]))
  const unsent = new Set(
    [...deliveries.values()]
      .filter((each) => each.round === 0 && !['delivered', 'exhausted'].includes(each.state))
      .map((each) => `${each.webhook_id} ${each.uid}`),
  )
  return hooks.flatMap(({ place, webhook }) => {
    const paths = pathsOf({ place })
    const arrived = engine.receiver.received.filter(({ path }) => paths.includes(path)).map(({ id }) => id)
    const overtaken = findOvertaken(arrived, (id) => {
      const event = byPrinted.get(id)!
      return unsent.has(`${webhook.id} ${event.uid}`) ? undefined : event
    })
    return overtaken.map((id) => `${id} was overtaken at hook ${place}`)
  })
}

/** What is older than it is kept is gone; everything else is there. */
async function findWronglyKept({
  engine,
  books: { deliveries, log },
  receivers: { hooks },
}: Quarter): Promise<string[]> {
  const now = engine.house.clock.now()
  const oldest = oldestDay(now)
  const read = async (text: string) => new Set((await engine.sql<{ id: string }>(text)).map(({ id }) => id))
  const compare = async (what: string, ledger: Iterable<readonly [string, number]>, text: string) => {
    const kept = await read(text)
    return [...ledger].flatMap(([id, of]) =>
      kept.has(id) === of >= oldest ? [] : [`${what} ${id} is ${of >= oldest ? 'gone' : 'still there'}`],
    )
  }
  const living = new Set(hooks.filter((hook) => !hook.isDeleted).map(({ webhook }) => webhook.id))
  const tried = [...deliveries.values()].filter((each) => each.attempts > 0 && living.has(each.webhook_id))
  const [old] = await engine.sql<{ count: number }>('SELECT count(*) FROM answers WHERE day < $1', [
    dayOf(after(now, -policy.attemptDays * day)),
  ])
  return [
    ...(await compare(
      'entry',
      [...log].map(([key, entry]) => [key, entry.day] as const),
      `SELECT feed / 2 || ':' || seq AS id FROM log`,
    )),
    ...(await compare(
      'what became of',
      tried.map((each) => [each.id, each.day] as const),
      `SELECT DISTINCT webhook_id || '-' || seq || CASE round WHEN 0 THEN '' ELSE '-' || round END AS id
        FROM outcomes`,
    )),
    ...(old!.count === 0 ? [] : [`${old!.count} old answers are still there`]),
  ]
}
