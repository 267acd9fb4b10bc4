/**
 * What happened, written to the log of a branch as the sequencer would have: from then on it waits at every
 * webhook that wants it. A script in SQL.
 */
export function printEntries(branchId: number, count: number, everyMs = 0): string {
  const feed = `part_of(${branchId}), feed_of(${branchId}, 'live')`
  const at = `now() - interval '1 ms' * ${everyMs} * (${count} - n)`
  return `
    SELECT open_day(day_of(at))
      FROM generate_series(now() - interval '1 ms' * ${everyMs * count}, now() + interval '1 day',
      interval '1 h') AS at;
    SELECT FROM parts WHERE part = part_of(${branchId}) FOR NO KEY UPDATE;
    INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
    SELECT ${feed}, (SELECT feed_head(${feed})) + n, day_of(${at}), false, ${at}, gen_random_uuid(),
      'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250)
    FROM generate_series(1, ${count}) AS n;
    INSERT INTO feed_days (part, feed, first, day)
    SELECT part, feed, min(seq), day FROM log WHERE part = part_of(${branchId})
      AND feed = feed_of(${branchId}, 'live') GROUP BY part, feed, day
    ON CONFLICT DO NOTHING;`
}

/**
 * All of it was delivered to these webhooks of the branch, but for what is left out: an expression over
 * `l.seq`. Their cursors are behind it.
 */
export function printDelivered(
  branchId: number,
  webhooks: string,
  except = 'false',
  state = "'delivered'",
): string {
  return `
    INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state, outcome)
    SELECT l.part, w.id, l.seq, 0, 1, l.day, l.created_at, l.seq % 400, CASE ${state} WHEN 'delivered'
      THEN 200 ELSE 500 END, ${state},
      CASE ${state} WHEN 'delivered' THEN 'accepted' ELSE 'refused' END
    FROM log l, (SELECT id FROM webhooks WHERE ${webhooks}) w
    WHERE l.part = part_of(${branchId}) AND l.feed = feed_of(${branchId}, 'live') AND NOT (${except});
    UPDATE cursors SET position = feed_head(part, feed), epoch = epoch + 1
      WHERE webhook_id IN (SELECT id FROM webhooks WHERE ${webhooks});`
}
