/** Lanes, as statements of the kernel's functions (migrations/0012-engine.sql). Each names one part. */
import {
  bool,
  hash64,
  instant,
  int,
  json,
  list,
  moment,
  oneOf,
  orNull,
  sure,
  text,
  uuid,
} from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import type { Filter } from '../events/entry.ts'
import { kinds } from '../events/kind.ts'
import { entryColumns, entryRow } from '../events/log.sql.ts'

export const partsToTake = 'parts_to_take(round.now)'
/** Where they lie on other servers, each is asked by itself. */
export const allPartsThereAre = 'ARRAY(SELECT generate_series(0, part_count() - 1))'

export const readEntries = statement({
  name: 'read_entries',
  takes: { part: int, feed: int, seqs: list(int), days: list(int) },
  gives: entryRow,
  text: `SELECT ${entryColumns} FROM read_entries(:part::smallint, :feed, :seqs::bigint[], :days::int[])`,
})

const columnsOfEntry = entryColumns.replace(
  /\b(seq|day|uid|kind|action|entity|simulated|webhook_id|created_at|traceparent|body)\b/g,
  '(entry).$1',
)

/** The last row has no entry: it says how far the look has come. */
export const readReplay = statement({
  name: 'read_replay',
  takes: { part: int, webhookId: int, round: int, after: int, most: int },
  gives: {
    upto: int,
    seq: orNull(int),
    day: orNull(int),
    uid: orNull(uuid),
    kind: orNull(oneOf(...kinds)),
    action: orNull(text),
    entity: orNull(text),
    simulated: orNull(bool),
    webhookId: orNull(int),
    createdAt: orNull(instant),
    traceparent: orNull(text),
    body: orNull(text),
  },
  text: `SELECT upto, ${columnsOfEntry} FROM read_replay(:part::smallint, :webhookId, :round, :after, :most)`,
})

export const take = statement({
  name: 'take_lanes',
  takes: { part: int, worker: int, now: instant, most: int, exceptIds: list(int) },
  gives: { webhookId: int },
  text: `SELECT webhook_id AS "webhookId"
    FROM take(:part::smallint, :worker, :now, :most, :exceptIds::bigint[])`,
})

/** First of a transaction: all its statements read one snapshot. */
export const readOneMoment = statement({
  name: 'read_one_moment',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
})

const lanes = { part: int, webhookIds: list(int) }

/** What the holder of a lane has to know; read in a transaction after the one that took it. */
export const loadCursors = statement({
  name: 'load_cursors',
  takes: lanes,
  gives: {
    webhookId: int,
    feed: int,
    position: int,
    epoch: int,
    holder: orNull(int),
    isOpen: sure(bool),
    term: int,
    triedIn: orNull(int),
    failures: int,
    failingSince: orNull(instant),
    holdUntil: orNull(instant),
    heldAt: orNull(instant),
    passed: int,
  },
  text: `SELECT webhook_id AS "webhookId", feed, position, epoch, holder, is_open AS "isOpen", term,
    tried_in AS "triedIn", failures, failing_since AS "failingSince",
     CASE WHEN isfinite(hold_until) THEN hold_until END AS "holdUntil",
     CASE WHEN isfinite(held_at) THEN held_at END AS "heldAt",
     coalesce((SELECT max(p.upto) FROM passes p WHERE p.part = :part AND p.webhook_id = c.webhook_id),
       0) AS passed
   FROM cursors c WHERE c.part = :part AND c.webhook_id = ANY (:webhookIds::bigint[])`,
})

/** How far the feeds of lanes go. */
export const loadHeads = statement({
  name: 'load_heads',
  takes: lanes,
  gives: { feed: int, head: int },
  text: `SELECT feed, feed_head(:part::smallint, feed) AS head FROM (SELECT DISTINCT feed FROM cursors
    WHERE part = :part AND webhook_id = ANY (:webhookIds::bigint[])) f`,
})

export const loadFilters = statement({
  name: 'load_filters',
  takes: lanes,
  gives: { webhookId: int, fromSeq: int, kinds: list(text), actions: json<Filter['actions']>() },
  text: `SELECT webhook_id AS "webhookId", from_seq AS "fromSeq", kinds, actions FROM filters
    WHERE part = :part AND webhook_id = ANY (:webhookIds::bigint[]) ORDER BY webhook_id, from_seq`,
})

export const loadExceptions = statement({
  name: 'load_exceptions',
  takes: lanes,
  gives: {
    webhookId: int,
    entity: text,
    seq: int,
    day: int,
    attempts: int,
    dueAt: instant,
    writtenAt: instant,
  },
  text: `SELECT webhook_id AS "webhookId", entity, seq, day, attempts, due_at AS "dueAt",
    written_at AS "writtenAt"
    FROM exceptions
   WHERE part = :part AND webhook_id = ANY (:webhookIds::bigint[]) ORDER BY webhook_id, seq`,
})

export const loadAgains = statement({
  name: 'load_agains',
  takes: lanes,
  gives: {
    webhookId: int,
    seq: int,
    round: int,
    day: int,
    entity: text,
    attempts: int,
    dueAt: instant,
    writtenAt: instant,
  },
  text: `SELECT webhook_id AS "webhookId", seq, round, day, entity, attempts, due_at AS "dueAt",
    written_at AS "writtenAt" FROM agains
   WHERE part = :part AND webhook_id = ANY (:webhookIds::bigint[]) ORDER BY webhook_id, seq, round`,
})

/** Entries that are finished ahead of the position. */
export const loadAhead = statement({
  name: 'load_ahead',
  takes: lanes,
  gives: { webhookId: int, seq: int },
  text: `SELECT c.webhook_id AS "webhookId", o.seq FROM cursors c CROSS JOIN LATERAL (
     SELECT seq FROM outcomes WHERE part = :part AND webhook_id = c.webhook_id AND seq > c.position
       AND round = 0
       AND state <> 'retrying'
       AND day >= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = :part AND d.feed = c.feed
         AND d.first <= c.position + 1), 0) OFFSET 0) o
   WHERE c.part = :part AND c.webhook_id = ANY (:webhookIds::bigint[])`,
})

/** Entries that a running replay has finished ahead of its position. */
export const loadReplayed = statement({
  name: 'load_replayed',
  takes: lanes,
  gives: { webhookId: int, seq: int },
  text: `SELECT r.webhook_id AS "webhookId", o.seq FROM replay_cursors r CROSS JOIN LATERAL (
     SELECT seq FROM outcomes WHERE part = :part AND webhook_id = r.webhook_id AND seq > r.position
       AND seq <= r.last AND round = r.round AND state <> 'retrying' OFFSET 0) o
   WHERE r.part = :part AND r.webhook_id = ANY (:webhookIds::bigint[]) AND r.state = 'running'`,
})

export const loadReplays = statement({
  name: 'load_replays',
  takes: lanes,
  gives: { webhookId: int, round: int, position: int, last: int, sent: int },
  text: `SELECT DISTINCT ON (webhook_id) webhook_id AS "webhookId", round, position, last, sent
   FROM replay_cursors WHERE part = :part AND webhook_id = ANY (:webhookIds::bigint[]) AND state = 'running'
     ORDER BY webhook_id, round`,
})

/**
 * When attempts were begun since a moment, of webhooks that have a rate: a worker that takes a lane goes on
 * with what is left of its second.
 */
export const loadBegun = statement({
  name: 'load_begun',
  takes: { ...lanes, since: instant },
  gives: { webhookId: int, at: instant },
  text: `SELECT c.webhook_id AS "webhookId", o.at FROM cursors c CROSS JOIN LATERAL (
     SELECT coalesce(max(d.day), 0) AS day FROM feed_days d WHERE d.part = :part AND d.feed = c.feed
       AND d.first <= c.position) f CROSS JOIN LATERAL (
     SELECT at FROM outcomes WHERE part = :part AND webhook_id = c.webhook_id AND day >= f.day
       ORDER BY seq DESC
       LIMIT 1000) o
   WHERE c.part = :part AND c.webhook_id = ANY (:webhookIds::bigint[]) AND o.at > :since ORDER BY o.at`,
})

export const settle = statement({
  name: 'settle',
  takes: {
    part: int,
    now: instant,
    today: int,
    laneIds: list(int),
    laneEpochs: list(int),
    lanePositions: list(orNull(int)),
    laneReads: list(int),
    laneHolds: list(orNull(moment)),
    laneFailures: list(orNull(int)),
    laneFailingSince: list(orNull(instant)),
    resultIds: list(int),
    resultSeqs: list(int),
    resultRounds: list(int),
    resultAttempts: list(int),
    resultDays: list(int),
    resultMoments: list(instant),
    resultDurations: list(int),
    resultStatuses: list(orNull(int)),
    resultStates: list(oneOf('retrying', 'delivered', 'exhausted')),
    resultOutcomes: list(oneOf('accepted', 'refused', 'unreachable')),
    resultReasons: list(
      orNull(oneOf('timeout', 'dns', 'tls', 'connection', 'protocol', 'forbidden-address', 'no-secret')),
    ),
    resultHashes: list(orNull(hash64)),
    answerIds: list(int),
    answerHashes: list(hash64),
    answerResponses: list(orNull(text)),
    answerDetails: list(orNull(text)),
    exceptionIds: list(int),
    exceptionEntities: list(text),
    exceptionSeqs: list(int),
    exceptionDays: list(int),
    exceptionAttempts: list(int),
    exceptionDues: list(orNull(instant)),
    againIds: list(int),
    againSeqs: list(int),
    againRounds: list(int),
    againDays: list(int),
    againEntities: list(text),
    againAttempts: list(int),
    againDues: list(orNull(instant)),
    replayIds: list(int),
    replayRounds: list(int),
    replayPositions: list(int),
    replaySent: list(int),
  },
  gives: { webhookId: int, entity: orNull(text), next: orNull(int), nextDay: orNull(int) },
  text: `SELECT webhook_id AS "webhookId", entity, next, next_day AS "nextDay"
   FROM settle(:part::smallint, :now, :today,
     :laneIds::bigint[], :laneEpochs::bigint[], :lanePositions::bigint[], :laneReads::bigint[],
       :laneHolds::timestamptz[], :laneFailures::int[], :laneFailingSince::timestamptz[],
     :resultIds::bigint[], :resultSeqs::bigint[], :resultRounds::int[], :resultAttempts::smallint[],
       :resultDays::int[], :resultMoments::timestamptz[], :resultDurations::int[],
       :resultStatuses::smallint[], :resultStates::text[], :resultOutcomes::text[], :resultReasons::text[],
       :resultHashes::bigint[],
     :answerIds::bigint[], :answerHashes::bigint[], :answerResponses::text[], :answerDetails::text[],
     :exceptionIds::bigint[], :exceptionEntities::text[], :exceptionSeqs::bigint[], :exceptionDays::int[],
       :exceptionAttempts::smallint[], :exceptionDues::timestamptz[],
     :againIds::bigint[], :againSeqs::bigint[], :againRounds::int[], :againDays::int[],
       :againEntities::text[], :againAttempts::smallint[], :againDues::timestamptz[],
     :replayIds::bigint[], :replayRounds::int[], :replayPositions::bigint[], :replaySent::int[])`,
})

export const rest = statement({
  name: 'rest_lanes',
  takes: {
    part: int,
    now: instant,
    webhookIds: list(int),
    epochs: list(int),
    positions: list(int),
    wakes: list(moment),
  },
  gives: { webhookId: int },
  text: `SELECT webhook_id AS "webhookId"
    FROM rest(:part::smallint, :now, :webhookIds::bigint[], :epochs::bigint[], :positions::bigint[],
      :wakes::timestamptz[])`,
})

export const giveBack = statement({
  name: 'give_back_lanes',
  takes: { part: int, webhookIds: list(int), epochs: list(int) },
  text: 'SELECT give_back(:part::smallint, :webhookIds::bigint[], :epochs::bigint[])',
})

export const freeLanes = statement({
  name: 'free_lanes',
  takes: { part: int, workers: list(int) },
  gives: { freed: int },
  text: 'SELECT free_lanes(:part::smallint, :workers::int[]) AS freed',
})

export const keepLanes = statement({
  name: 'keep_lanes',
  takes: { part: int, former: int, worker: int },
  text: 'SELECT keep_lanes(:part::smallint, :former, :worker)',
})

/** Workers that hold lanes of a part. */
export const selectHolders = statement({
  name: 'select_holders',
  takes: { part: int },
  gives: { holder: sure(int) },
  text: 'SELECT DISTINCT holder FROM cursors WHERE part = :part AND holder IS NOT NULL',
})

/** The lanes that a worker holds, by every number that it has had. */
export const selectHeld = statement({
  name: 'select_held_lanes',
  takes: { part: int, holders: list(int) },
  gives: { webhookId: int },
  text: 'SELECT webhook_id AS "webhookId" FROM cursors WHERE part = :part AND holder = ANY (:holders::int[])',
})

/**
 * Takes anew those of the worker's lanes that it does not know of: their epoch grows, so that older writes of
 * its own are refused.
 */
export const takeForgotten = statement({
  name: 'take_forgotten_lanes',
  takes: { part: int, holders: list(int), webhookIds: list(int) },
  gives: { webhookId: int },
  text: `UPDATE cursors SET epoch = epoch + 1 WHERE part = :part AND webhook_id = ANY (ARRAY(
     SELECT webhook_id FROM cursors WHERE part = :part AND holder = ANY (:holders::int[])
       AND webhook_id = ANY (:webhookIds::bigint[]) ORDER BY webhook_id FOR NO KEY UPDATE))
   RETURNING webhook_id AS "webhookId"`,
})
