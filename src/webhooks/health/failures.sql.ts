import { instant, int, list, oneOf, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { answerOf } from '../engine/response-texts.sql.ts'

/** What a page shows of an answer; the whole is with the delivery. */
const excerpt = 1_000

/**
 * What fails, what was asked for again, and the last that was given up: where a failure since the last
 * success is to be found.
 */
const suspects = `
   SELECT x.seq, 0 AS round, x.day FROM exceptions x WHERE x.part = :part AND x.webhook_id = k.webhook_id
   UNION SELECT g.seq, g.round, g.day FROM agains g WHERE g.part = :part AND g.webhook_id = k.webhook_id
   UNION (SELECT o.seq, o.round, o.day FROM outcomes o WHERE o.part = :part AND o.webhook_id = k.webhook_id
     AND o.state = 'exhausted' AND k.failing_since IS NOT NULL ORDER BY o.seq DESC LIMIT 1)`

/**
 * The first and the last failed attempt of webhooks that fail, or of what is tried again though others were
 * accepted. What an attempt was answered leaves earlier
 * than the attempt.
 */
export const selectFailures = statement({
  name: 'select_webhook_failures',
  takes: { part: int, webhookIds: list(int) },
  gives: {
    which: oneOf('first', 'last'),
    webhookId: int,
    seq: int,
    round: int,
    number: int,
    at: instant,
    durationMs: int,
    outcome: oneOf('refused', 'unreachable'),
    status: orNull(int),
    why: orNull(text),
    detail: orNull(text),
    response: orNull(text),
  },
  text: `WITH failed AS MATERIALIZED (
     SELECT k.webhook_id, o.* FROM cursors k CROSS JOIN LATERAL (
       SELECT o.seq, o.round, o.attempt, o.day, o.at, o.duration_ms, o.outcome, o.status, o.why, o.said
       FROM (${suspects}) s CROSS JOIN LATERAL (
         SELECT * FROM outcomes WHERE part = :part AND webhook_id = k.webhook_id AND seq = s.seq
           AND round = s.round AND day = s.day OFFSET 0) o
       WHERE o.attempt > 0 AND o.outcome <> 'accepted'
         AND (k.failing_since IS NULL
           OR o.at + o.duration_ms * interval '1 millisecond' >= k.failing_since - interval '1 minute')) o
     WHERE k.part = :part AND k.webhook_id = ANY (:webhookIds::bigint[])),
   ends AS MATERIALIZED (
     (SELECT DISTINCT ON (webhook_id) 'first' AS which, * FROM failed ORDER BY webhook_id, at, seq)
     UNION ALL (SELECT DISTINCT ON (webhook_id) 'last', * FROM failed ORDER BY webhook_id, at DESC, seq DESC))
   SELECT e.which, e.webhook_id AS "webhookId", e.seq, e.round, e.attempt AS number,
     e.at, e.duration_ms AS "durationMs",
     e.outcome, e.status, e.why, said.detail, left(said.response, ${excerpt}) AS response
   FROM ends e ${answerOf('e')}`,
})
