/** What is left of a quarter, held against its ledger. None is the only good answer. */
import { after, day } from '../../src/clock.ts'
import { dayOf, dayOfId } from '../../src/webhooks/days.ts'
import { printEventId } from '../../src/webhooks/event.ts'
import { retryWaitsMs } from '../../src/webhooks/retry-schedule.ts'
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
  const numbered = [...log.values()]
  const times = Map.groupBy(numbered, (id) => id)
  const unnumbered = [...events.keys()].filter((id) => times.get(id)?.length !== 1)
  const gaps = branches.filter((branchId) => {
    const numbers = [...log.keys()]
      .filter((key) => key.startsWith(`${branchId}:`))
      .map((key) => Number(key.split(':')[1]))
    return Math.max(0, ...numbers) !== numbers.length
  })
  return [
    ...unnumbered.map((id) => `event ${id} has ${times.get(id)?.length ?? 0} numbers`),
    ...gaps.map((branchId) => `the numbers of branch ${branchId} have a gap`),
  ]
}

/** One delivery for each webhook that wanted the event, and no other but what repeats one. */
function findMissing({ books: { events, deliveries } }: Quarter): string[] {
  const first = [...deliveries.values()].filter((each) => each.repeats === null)
  const found = Map.groupBy(first, (each) => each.event_id)
  return [...events.values()].flatMap(({ id, wantedBy }) => {
    const got = (found.get(id) ?? []).map((each) => each.webhook_id).sort((a, b) => a - b)
    const wanted = [...wantedBy].sort((a, b) => a - b)
    return String(got) === String(wanted) ? [] : [`event ${id} was wanted by ${wanted}, has deliveries for ${got}`]
  })
}

function findWrongEndings(quarter: Quarter): string[] {
  return [...quarter.books.deliveries.values()].flatMap((delivery) => {
    const problem = judge(quarter, delivery)
    return problem ? [`delivery ${delivery.id} (${delivery.state}) ${problem}`] : []
  })
}

function judge({ books, receivers, engine }: Quarter, delivery: LedgerDelivery): string | undefined {
  const { hooks, accepted } = receivers
  const { webhook_id, event_id, state, attempts } = delivery
  const isDeleted = hooks.find((hook) => hook.webhook.id === webhook_id)!.isDeleted
  if (state === 'delivered')
    return accepted.has(`${webhook_id} ${printEventId(books.events.get(event_id)!.uid)}`)
      ? undefined
      : 'was never accepted'
  if (state === 'exhausted') return attempts > retryWaitsMs.length ? undefined : 'was given up too early'
  if (state === 'canceled') return isDeleted ? undefined : 'has a webhook that lives'
  // Expired: the day on which that was written down may have left with it.
  return isOld(engine.house.clock.now(), delivery) ? undefined : 'has not ended'
}

function isOld(now: Date, { id, event_id }: LedgerDelivery): boolean {
  return dayOfId(id) < oldestDay(now, 0) || dayOfId(event_id) < oldestDay(now, 1)
}

function oldestDay(now: Date, more: number): number {
  return dayOf(after(now, -(policy.eventDays + more) * day))
}

/** Of an entity, events reach a webhook for the first time in the order in which they were published; but for what was only ever sent again. */
function findDisorder({ receivers: { hooks }, books: { events, deliveries }, engine }: Quarter): string[] {
  const byPrinted = new Map([...events.values()].map((event) => [printEventId(event.uid), event]))
  const unsent = new Set(
    [...deliveries.values()]
      .filter((each) => each.repeats === null && !['delivered', 'exhausted'].includes(each.state))
      .map((each) => `${each.webhook_id} ${each.event_id}`),
  )
  return hooks.flatMap(({ place, webhook }) => {
    const paths = pathsOf({ place })
    const arrived = engine.receiver.received.filter(({ path }) => paths.includes(path)).map(({ id }) => id)
    const overtaken = findOvertaken(arrived, (id) => {
      const event = byPrinted.get(id)!
      return unsent.has(`${webhook.id} ${event.id}`) ? undefined : event
    })
    return overtaken.map((id) => `${id} was overtaken at hook ${place}`)
  })
}

/** What is older than it is kept is gone; everything else is there. */
async function findWronglyKept({ engine, books: { deliveries, events } }: Quarter): Promise<string[]> {
  const now = engine.house.clock.now()
  const idsOf = async (table: string) =>
    new Set((await engine.sql<{ id: number }>(`SELECT id FROM ${table}`)).map((row) => row.id))
  const compare = async (table: string, ledger: Iterable<number>, oldest: number) => {
    const kept = await idsOf(table)
    return [...ledger].flatMap((id) => {
      const isWanted = dayOfId(id) >= oldest
      return kept.has(id) === isWanted ? [] : [`${id} of ${table} is ${isWanted ? 'gone' : 'still there'}`]
    })
  }
  const [old] = await engine.sql<{ count: number }>('SELECT count(*) FROM attempts WHERE day < $1', [
    dayOf(after(now, -policy.attemptDays * day)),
  ])
  return [
    ...(await compare('deliveries', deliveries.keys(), oldestDay(now, 0))),
    ...(await compare('events', events.keys(), oldestDay(now, 1))),
    ...(old!.count === 0 ? [] : [`${old!.count} old attempts are still there`]),
  ]
}
