/**
 * Cursors follow what somebody wrote to `webhooks` or `partners` by hand: a script in SQL, for as many as
 * there are.
 */
export const followByHand = `
  SELECT follow_webhook(part_of(w.branch_id), w.id, feed_of(w.branch_id, w.environment), w.state = 'active',
    may_act(p.status, w.environment), w.kinds, w.actions, hashtextextended(w.url, 0))
  FROM (SELECT * FROM webhooks WHERE state <> 'deleted' ORDER BY id) w
    JOIN partners p ON p.branch_id = w.branch_id;
  SELECT delete_cursor(part_of(branch_id), id) FROM webhooks WHERE state = 'deleted';`
