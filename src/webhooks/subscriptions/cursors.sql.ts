/** The cursors of webhooks, as their configuration wants them. Statements of the engine name one part ($1) and read no configuration. */
import { statement } from '../../database/database.ts'

const configured = `SELECT w.id, w.branch_id AS "branchId", w.environment, w.state = 'active' AS "isActive", may_act(p.status, w.environment) AS "mayAct", w.kinds, w.actions
   FROM webhooks w JOIN partners p ON p.branch_id = w.branch_id WHERE w.state <> 'deleted'`

/** As it is, and as it and what its partner may stay until the commit. */
export const lockConfigured = statement(
  'lock_configured',
  `${configured} AND w.id = $1 FOR NO KEY UPDATE OF w FOR SHARE OF p`,
)

export const selectConfigured = statement('select_configured', configured)

export const selectCursors = statement(
  'select_configured_cursors',
  `SELECT webhook_id AS id, is_active AS "isActive", may_act AS "mayAct", kinds, actions FROM cursors WHERE part = $1`,
)

/** $2 webhook, $3 feed, $4 whether it is active, $5 whether its partner may act, $6 and $7 what it wants. */
export const followWebhook = statement('follow_webhook', 'SELECT follow_webhook($1, $2, $3, $4, $5, $6, $7)')

export const deleteCursor = statement('delete_cursor', 'SELECT delete_cursor($1, $2)')
