/**
 * What waits at a webhook: what it wanted above its position and has not finished, what is unfinished of the
 * entities that fail, and what was asked for again. It takes `part`, and `most`, at which counts stop. `k` is
 * a row of `cursors`.
 */
import { dayOfSeq, filterAt, hasEnded, isFor } from '../events/branch-logs.sql.ts'

/** Everything of a feed from the day on which the position of `k` was given. */
export const fromPosition = `l.part = :part AND l.feed = k.feed AND l.seq > k.position
  AND l.day >= coalesce(${dayOfSeq('k.position + 1', 'k.feed')}, 0)`

/** By the filters of `k`, each for the numbers that it decides: so no entry is asked for its filter. */
const wantedAbove = `LATERAL (
     SELECT coalesce(sum(wanted.entries), 0) AS entries FROM (
       SELECT from_seq, lead(from_seq, 1, 9223372036854775807) OVER (ORDER BY from_seq) AS past, kinds,
         actions FROM filters
       WHERE part = :part AND webhook_id = k.webhook_id) f
     CROSS JOIN LATERAL (
       SELECT count(*) AS entries FROM (
         SELECT FROM log l WHERE ${fromPosition} AND l.seq >= f.from_seq AND l.seq < f.past
           AND ${isFor('l', 'k.webhook_id', 'f')} ORDER BY l.seq LIMIT :most) counted) wanted
     WHERE f.past > k.position)`

/** Finished ahead of the position. */
const endedAbove = `LATERAL (
     SELECT count(*) AS entries FROM outcomes o WHERE o.part = :part AND o.webhook_id = k.webhook_id
       AND o.seq > k.position AND o.round = 0
       AND o.state <> 'retrying' AND o.day >= coalesce(${dayOfSeq('k.position + 1', 'k.feed')}, 0))`

/**
 * Entries of the entity of exception `x` from its first unfinished one on that were wanted and have not
 * ended, oldest first.
 */
export const unfinishedOf = (
  columns: string,
) => `SELECT ${columns} FROM log l CROSS JOIN ${filterAt('x.webhook_id', 'l.seq')} f
       WHERE l.part = :part AND l.feed = k.feed AND (l.entity, l.seq) >= (x.entity, x.seq)
         AND (l.entity, l.seq) <= (x.entity, 9223372036854775807) AND l.day >= x.day
         AND ${isFor('l', 'x.webhook_id', 'f')} AND NOT ${hasEnded('l', 'x.webhook_id')}
           ORDER BY l.entity, l.seq LIMIT :most`

/**
 * Of entities that fail: how many there are, what is unfinished up to the position, and what waits behind
 * their first ones.
 */
const failing = `LATERAL (
     SELECT count(*) AS entities, coalesce(sum(of_entity.below), 0) AS below,
       coalesce(sum(of_entity.unfinished - 1), 0) AS behind
     FROM exceptions x CROSS JOIN LATERAL (
       SELECT count(*) AS unfinished, count(*) FILTER (WHERE u.seq <= k.position) AS below
         FROM (${unfinishedOf('l.seq')}) u) of_entity
     WHERE x.part = :part AND x.webhook_id = k.webhook_id)`

const again = `LATERAL (SELECT count(*) AS entries
  FROM (SELECT FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id LIMIT :most) asked)`

/** To be joined to `k`: `waiting.deliveries`, and of these `waiting.blocked`; `waiting.entities` fail. */
export const waiting = `LATERAL (
   SELECT least(above.entries - ended.entries + failing.below + again.entries, :most)::int AS deliveries,
     least(failing.behind, :most)::int AS blocked, failing.entities::int AS entities
   FROM ${wantedAbove} above, ${endedAbove} ended, ${failing} failing, ${again} again)`

/** A lane that sleeps until a notification wakes it has read everything, and nothing of it waits. */
export const mayHaveWork = `NOT (k.holder IS NULL AND k.is_open AND k.wake_at = 'infinity')`
