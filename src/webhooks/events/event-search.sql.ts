import { instant, int, oneOf, orNull, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { environments } from '../../vocabulary/environment.ts'
import { kinds } from './kind.ts'

const entryRow = {
  feed: int,
  seq: int,
  day: int,
  uid: uuid,
  kind: oneOf(...kinds),
  action: text,
  entity: text,
  webhookId: orNull(int),
  createdAt: instant,
}

/**
 * The entry of an event in a part, by its uid: a look at the index of each day. Whose clock gave the name,
 * and whose the day, is another matter.
 */
export const selectEntry = statement({
  name: 'select_named_entry',
  takes: { part: int, uid: uuid },
  gives: entryRow,
  text: `SELECT feed, seq, day, uid, kind, action, entity, webhook_id AS "webhookId",
    created_at AS "createdAt"
    FROM log
   WHERE part = :part AND uid = :uid LIMIT 1`,
})

/**
 * By the index of entities, which asks for the feed: of each feed that there is, its newest. Compared as pairs,
 * which no other index has: one by numbers alone would read days whole.
 */
export const selectNewestOfEntity = statement({
  name: 'select_newest_of_entity',
  takes: { part: int, entity: text, most: int },
  gives: entryRow,
  text: `WITH RECURSIVE feeds AS (
     SELECT min(feed) AS feed FROM feed_days WHERE part = :part
     UNION ALL
     SELECT (SELECT min(d.feed) FROM feed_days d WHERE d.part = :part AND d.feed > feeds.feed) FROM feeds
     WHERE feeds.feed IS NOT NULL)
   SELECT newest.feed, newest.seq, newest.day, newest.uid, newest.kind, newest.action, newest.entity,
     newest.webhook_id AS "webhookId", newest.created_at AS "createdAt"
   FROM (SELECT l.feed, max(l.seq) AS seq FROM log l WHERE l.part = :part
     AND l.feed = ANY (ARRAY(SELECT feed FROM feeds WHERE feed IS NOT NULL))
     AND (l.entity, l.seq) > (:entity, 0) AND (l.entity, l.seq) < (:entity, 9223372036854775807)
     GROUP BY l.feed) of_feed
   CROSS JOIN LATERAL (SELECT l.* FROM log l WHERE l.part = :part AND l.feed = of_feed.feed
     AND (l.entity, l.seq) >= (:entity, of_feed.seq) AND (l.entity, l.seq) <= (:entity, of_feed.seq)
     LIMIT 1) newest
   ORDER BY newest.created_at DESC LIMIT :most`,
})

const receiverRow = { id: int, url: text, branchId: int, environment: oneOf(...environments), partner: text }

/** Every word that was typed begins a word of the address, or the number is the webhook's. */
export const selectAddressed = statement({
  name: 'select_webhooks_addressed',
  takes: { typed: text, id: orNull(int), most: int },
  gives: receiverRow,
  text: `SELECT found.id, found.url, found.branch_id AS "branchId", found.environment, p.name AS partner
    FROM (
     (SELECT id, url, branch_id, environment FROM webhooks WHERE id = :id AND state <> 'deleted')
     UNION
     (SELECT id, url, branch_id, environment FROM webhooks WHERE state <> 'deleted' AND address_words(url) @@
        (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(address_words(:typed)))
          LIMIT :most)
   ) AS found JOIN partners p ON p.branch_id = found.branch_id ORDER BY found.id LIMIT :most`,
})

/** A webhook of whichever partner. */
export const selectReceiver = statement({
  name: 'select_receiver',
  takes: { id: int },
  gives: receiverRow,
  text: `SELECT w.id, w.url, w.branch_id AS "branchId", w.environment, p.name AS partner FROM webhooks w
    JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = :id AND w.state <> 'deleted'`,
})
