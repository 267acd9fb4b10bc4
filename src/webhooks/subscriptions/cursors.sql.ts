/**
 * The cursors of webhooks, as their configuration wants them. Statements of the engine name one part and read
 * no configuration.
 */
import { bool, hash64, int, json, list, oneOf, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { environments } from '../../vocabulary/environment.ts'
import type { Actions } from './webhook-settings.ts'

const configured = `SELECT w.id, w.branch_id AS "branchId", w.environment, w.state = 'active' AS "isActive",
  may_act(p.status, w.environment) AS "mayAct", w.kinds, w.actions, 
  hashtextextended(w.url, 0)::text AS address
   FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id WHERE w.state <> 'deleted'`

const wishes = {
  ...{ id: int, isActive: bool, mayAct: bool, kinds: list(text), actions: json<Actions>() },
  /** 64 bits: more than a number of JavaScript's holds. */
  address: text,
}
const configuredRow = { ...wishes, branchId: int, environment: oneOf(...environments) }

/** As it is, and as it and what its partner may stay until the commit. */
export const lockConfigured = statement({
  name: 'lock_configured',
  takes: { id: int },
  gives: configuredRow,
  text: `${configured} AND w.id = :id FOR NO KEY UPDATE OF w FOR SHARE OF p`,
})

export const selectConfigured = statement({
  name: 'select_configured',
  gives: configuredRow,
  text: configured,
})

export const selectCursors = statement({
  name: 'select_configured_cursors',
  takes: { part: int },
  gives: wishes,
  text: `SELECT webhook_id AS id, is_active AS "isActive", may_act AS "mayAct", kinds, actions, address::text
    FROM cursors
    WHERE part = :part`,
})

export const followWebhook = statement({
  name: 'follow_webhook',
  takes: {
    part: int,
    webhookId: int,
    feed: int,
    isActive: bool,
    mayAct: bool,
    kinds: list(text),
    actions: json<Actions>(),
    address: hash64,
  },
  text: 'SELECT tell_part(:part, :webhookId, :feed, :isActive, :mayAct, :kinds, :actions, :address)',
})

export const deleteCursor = statement({
  name: 'delete_cursor',
  takes: { part: int, webhookId: int },
  text: 'SELECT tell_part(:part, :webhookId, 0, NULL, NULL, NULL, NULL, NULL)',
})
