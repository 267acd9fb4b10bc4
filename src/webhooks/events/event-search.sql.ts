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
 * By the index of entities, which asks for the feed: of each feed and day, the newest days first. Compared and
 * ordered as pairs, which no other index has: one by numbers alone would read a day whole.
 */
export const selectNewestOfEntity = statement({
  name: 'select_newest_of_entity',
  takes: { part: int, entity: text, days: int, most: int },
  gives: entryRow,
  text: `SELECT newest.feed, newest.seq, newest.day, newest.uid, newest.kind, newest.action, newest.entity,
     newest.webhook_id AS "webhookId", newest.created_at AS "createdAt"
   FROM (SELECT feed, day FROM feed_days WHERE part = :part AND day > 0 ORDER BY day DESC LIMIT :days) of_day
   CROSS JOIN LATERAL (SELECT l.* FROM log l WHERE l.part = :part AND l.feed = of_day.feed
     AND (l.entity, l.seq) > (:entity, 0) AND (l.entity, l.seq) < (:entity, 9223372036854775807)
     AND l.day = of_day.day ORDER BY l.entity DESC, l.seq DESC LIMIT 1) newest
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
