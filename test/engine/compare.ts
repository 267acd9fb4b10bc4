/** What the model holds and what the database holds, in the same words. */
import { poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { isCommitted } from './model/numbering.ts'
import type { Rules, World } from './model/world.ts'
import { printKinds, type Stage } from './stage.ts'

/** Lists of texts: what differs is then seen at a glance. */
export type Holdings = Readonly<Record<string, readonly string[]>>

export function printModel(s: World, rules: Rules, stage: Stage): Holdings {
  const { hooks } = rules
  const there = hooks.filter((w) => s.cursors[w]!.state !== 'deleted')
  const each = (print: (w: number) => string[]) =>
    there.flatMap((w) => print(w).map((text) => `${w}: ${text}`))
  const wakeOf = (wake: World['cursors'][0]['wake']) =>
    wake === 'now' ? '-infinity' : wake === 'never' ? 'infinity' : `${wake}`
  return {
    log: s.logs.flatMap((log, feed) =>
      log.map((entry, place) => `${feed}: ${place + 1} event ${entry.event}`).slice(s.floors[feed]),
    ),
    outbox: s.events
      .filter((e) => e.seq === 0 && isCommitted(s, rules, e.tx))
      .map((e) => `event ${e.id}`)
      .sort(),
    cursors: each((w) => {
      const c = s.cursors[w]!
      const kinds = printKinds(c.filters.at(-1)!.kinds)
      return [
        `position ${c.pos} epoch ${c.epoch} holder ${c.holder} wake ${wakeOf(c.wake)} open ${c.state === 'active'} rounds ${c.rounds} kinds ${kinds}`,
      ]
    }),
    exceptions: each((w) =>
      s.exceptions[w]!.map(
        (x) => `${x.entity} ${x.seq} tries ${x.tries} due ${x.due} written ${x.written}`,
      ).sort(),
    ),
    agains: each((w) =>
      s.agains[w]!.map(
        (x) => `${x.seq}-${x.round} tries ${x.tries} due ${x.due} written ${x.written}`,
      ).sort(),
    ),
    outcomes: hooks
      .flatMap((w) =>
        s.finals[w]!.filter((key) => Number.parseInt(key, 10) > s.floors[s.cursors[w]!.feed]!).map(
          (key) => `${w}: ${key}`,
        ),
      )
      .sort(),
    passes: each((w) => (s.cursors[w]!.passed > 0 ? [`${s.cursors[w]!.passed}`] : [])),
    filters: each((w) => s.cursors[w]!.filters.map((f) => `${f.from} ${printKinds(f.kinds)}`)),
    replays: each((w) => s.cursors[w]!.replays.map((r) => `${r.round} at ${r.pos} of ${r.last} ${r.state}`)),
    days: stage.feeds.map((_, feed) => `${feed}: head ${s.logs[feed]!.length}`),
  }
}

const ofWebhooks = 'part = $1 AND webhook_id = ANY ($3::bigint[])'
const moment = (column: string) =>
  `CASE WHEN isfinite(${column}) THEN round(extract(epoch FROM ${column} - $4::timestamptz) / 3600)::text
    ELSE ${column}::text END`
const w = 'array_position($3::bigint[], webhook_id) - 1'
const questions: Readonly<Record<string, string>> = {
  log: `SELECT array_position($2::int[], feed) - 1 || ': ' || seq || ' event ' || body
       || CASE WHEN day = (SELECT max(d.day) FROM feed_days d WHERE d.part = $1 AND d.feed = log.feed
         AND d.first <= log.seq) THEN '' ELSE ', not in its day' END
     FROM log WHERE part = $1 AND feed = ANY ($2::int[]) ORDER BY array_position($2::int[], feed), seq`,
  cursors: `SELECT ${w} || ': position ' || position || ' epoch ' || epoch || ' holder '
    || coalesce(holder::text, 'null') || ' wake ' || ${moment('wake_at')}
     || ' open ' || is_open || ' rounds ' || rounds || ' kinds ' || array_to_string(kinds, ',') FROM cursors
       WHERE ${ofWebhooks} ORDER BY webhook_id`,
  exceptions: `SELECT ${w} || ': ' || entity || ' ' || seq || ' tries ' || attempts || ' due '
    || ${moment('due_at')} || ' written ' || ${moment('written_at')}
     FROM exceptions WHERE ${ofWebhooks} ORDER BY webhook_id, entity, seq`,
  agains: `SELECT ${w} || ': ' || seq || '-' || round || ' tries ' || attempts || ' due '
    || ${moment('due_at')} || ' written ' || ${moment('written_at')}
     FROM agains WHERE ${ofWebhooks} ORDER BY webhook_id, seq, round`,
  outcomes: `SELECT ${w} || ': ' || seq || CASE WHEN round > 0 THEN '-' || round ELSE '' END FROM outcomes
    WHERE ${ofWebhooks} AND state <> 'retrying'`,
  passes: `SELECT ${w} || ': ' || max(upto) FROM passes WHERE ${ofWebhooks} GROUP BY webhook_id
    ORDER BY webhook_id`,
  filters: `SELECT ${w} || ': ' || from_seq || ' ' || array_to_string(kinds, ',') FROM filters
    WHERE ${ofWebhooks} ORDER BY webhook_id, from_seq`,
  replays: `SELECT ${w} || ': ' || round || ' at ' || position || ' of ' || last || ' ' || state
    FROM replay_cursors WHERE ${ofWebhooks} ORDER BY webhook_id, round`,
  days: `SELECT array_position($2::int[], f) - 1 || ': head ' || feed_head($1::smallint, f) FROM unnest($2::int[]) AS f
    WHERE f = ANY ($5::int[])`,
}
const selectHoldings = `SELECT ${Object.entries(questions)
  .map(([name, question]) => `ARRAY(${question}) AS "${name}"`)
  .join(', ')}`
/** It lies beside the publishers. */
const selectOutbox = `SELECT ARRAY(SELECT 'event ' || body FROM outbox
  WHERE part = $1 AND feed = ANY ($2::int[])) AS outbox`
const names = ['outbox', ...Object.keys(questions)]

export async function printDatabase({ house, scene, parts, feeds, webhooks, at }: Stage): Promise<Holdings> {
  const modelParts = scene.parts ?? [0]
  const rows = await Promise.all(
    parts.map(async (part, place) => {
      const own = feeds.filter(
        (_, feed) =>
          parts.indexOf(part) === [...new Set(modelParts)].indexOf(modelParts[feed]!) && place >= 0,
      )
      const [outbox] = await ask<Record<string, string[]>>(house.db, selectOutbox, [part, feeds])
      const [holdings] = await ask<Record<string, string[]>>(poolOf(house.db, part), selectHoldings, [
        ...[part, feeds, webhooks, at(0), own],
      ])
      return { ...outbox, ...holdings }
    }),
  )
  const isByName = (name: string) => name === 'outcomes' || name === 'outbox'
  return Object.fromEntries(
    names.map((name) => {
      const lines = rows.flatMap((row) => row[name]!)
      return [name, isByName(name) ? lines.sort() : lines]
    }),
  )
}
