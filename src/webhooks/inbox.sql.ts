import { statement } from '../database/database.ts'

/** How far a part has been read, and what there is to see now (a snapshot cursor). Where the numbers of transactions went back, the database was restored from a dump. */
export const selectRead = statement(
  'select_inbox_read',
  `SELECT number, read, target, at_xid AS "atXid", at_id AS "atId", day, pg_current_snapshot() AS current,
     pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(read) AS "wentBack"
   FROM inbox_reads WHERE part = $1 ORDER BY number DESC LIMIT 1`,
)

const columns =
  'xid, id, event_id AS "eventId", branch_id AS "branchId", environment, kind, action, entity, simulated, webhook_id AS "webhookId", repeats, replay_id AS "replayId"'

/**
 * What `target` ($3) sees and the last read did not: rows of the transactions that were under way then ($2), each found by its number, and
 * all that came later (from $4, $5 on). Nothing that was read before is passed again, dead or alive.
 */
export const selectUnread = statement(
  'select_unread',
  `SELECT * FROM (
     (SELECT ${columns} FROM inbox WHERE part = $1 AND xid = ANY ($2::xid8[]) AND pg_visible_in_snapshot(xid, $3::pg_snapshot)
        AND ($6::xid8 IS NULL OR (xid, id) > ($6::xid8, $7::bigint)) ORDER BY xid, id LIMIT $8)
     UNION ALL
     (SELECT ${columns} FROM inbox WHERE part = $1 AND (part, xid, id) > ($1, $4::xid8, $5::bigint)
        AND xid < pg_snapshot_xmax($3::pg_snapshot) AND pg_visible_in_snapshot(xid, $3::pg_snapshot) ORDER BY part, xid, id LIMIT $8)) unread
   ORDER BY xid, id LIMIT $8`,
)

export const insertRead = statement(
  'insert_inbox_read',
  'INSERT INTO inbox_reads (part, number, read, target, at_xid, at_id, day) VALUES ($1, $2, $3, $4, $5, $6, $7)',
)

/** Whether a part has something that `r`, its newest read, has not seen. */
export function isUnread(part: string): string {
  return `(r.target IS NOT NULL
     OR EXISTS (SELECT FROM inbox i WHERE i.part = ${part} AND i.xid >= pg_snapshot_xmax(r.read))
     OR EXISTS (SELECT FROM inbox i WHERE i.part = ${part} AND i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
     OR pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(r.read))`
}

export const partsWithNews = `ARRAY(SELECT p.part FROM generate_series(0, 15) AS p (part)
   CROSS JOIN LATERAL (SELECT read, target FROM inbox_reads WHERE part = p.part::smallint ORDER BY number DESC LIMIT 1) r
   WHERE ${isUnread('p.part::smallint')})`

export const selectPartsWithNews = statement('select_parts_with_news', `SELECT unnest(${partsWithNews}) AS part`)

/**
 * What has been read, from where the last clearing ended. By their place in the table, which no row of it ever leaves: a join of the two would be
 * planned by what was there when somebody last counted.
 */
export const clearInbox = statement(
  'clear_inbox',
  `DELETE FROM inbox WHERE ctid = ANY (ARRAY(
     SELECT i.ctid FROM inbox i
     WHERE i.part = $1 AND i.xid >= $2::xid8
       AND i.xid < (SELECT pg_snapshot_xmin(read) FROM inbox_reads WHERE part = $1 ORDER BY number DESC LIMIT 1)
     ORDER BY i.part, i.xid, i.id LIMIT $3))
   RETURNING xid`,
)

export const clearReads = statement(
  'clear_inbox_reads',
  `DELETE FROM inbox_reads WHERE part = $1 AND number >= $2
     AND number < (SELECT max(number) FROM inbox_reads WHERE part = $1) RETURNING number`,
)

/** After a restore from a dump, numbers of transactions mean nothing: what has no place in the log yet is written anew under numbers that do. */
export const rewriteInbox = statement(
  'rewrite_inbox',
  `WITH old AS (DELETE FROM inbox WHERE part = $1 RETURNING *)
   INSERT INTO inbox (part, event_id, branch_id, environment, kind, action, entity, simulated, webhook_id, repeats, replay_id)
   SELECT part, event_id, branch_id, environment, kind, action, entity, simulated, webhook_id, repeats, replay_id FROM old
   WHERE CASE WHEN webhook_id IS NULL
     THEN NOT EXISTS (SELECT FROM branch_log l WHERE l.branch_id = old.branch_id AND l.environment = old.environment AND l.event_id = old.event_id)
     ELSE NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = old.event_id AND d.webhook_id = old.webhook_id AND d.repeats = old.repeats) END
   ORDER BY xid, id`,
)

export const restartReads = statement(
  'restart_inbox_reads',
  `INSERT INTO inbox_reads (part, number, read, day)
   SELECT $1, max(number) + 1,
     format('%s:%s:', pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot, max(day)
   FROM inbox_reads WHERE part = $1`,
)
