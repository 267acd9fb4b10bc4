import { statement } from '../../database/database.ts'

/** The entry of an event in a part ($1), by its uid ($2): a look at the index of each day. Whose clock gave the name, and whose the day, is another matter. */
export const selectEntry = statement(
  'select_named_entry',
  `SELECT feed, seq, day, uid, kind, action, entity, webhook_id AS "webhookId", created_at AS "createdAt" FROM log
   WHERE part = $1 AND uid = $2 LIMIT 1`,
)

/** Every word that was typed begins a word of the address, or the number is the webhook's. */
export const selectAddressed = statement(
  'select_webhooks_addressed',
  `SELECT found.id, found.url, found.branch_id AS "branchId", found.environment, p.name AS partner FROM (
     (SELECT id, url, branch_id, environment FROM webhooks WHERE id = $2 AND state <> 'deleted')
     UNION
     (SELECT id, url, branch_id, environment FROM webhooks WHERE state <> 'deleted' AND address_words(url) @@
        (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(address_words($1))) LIMIT $3)
   ) AS found JOIN partners p ON p.branch_id = found.branch_id ORDER BY found.id LIMIT $3`,
)

/** A webhook of whichever partner. */
export const selectReceiver = statement(
  'select_receiver',
  `SELECT w.id, w.url, w.branch_id AS "branchId", w.environment, p.name AS partner FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id
   WHERE w.id = $1 AND w.state <> 'deleted'`,
)
