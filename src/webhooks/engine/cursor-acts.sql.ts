/** What people do to a cursor: the kernel's functions (migrations/0024-engine.sql), in the transaction that records the act. $1 is the part, $2 the webhook. */
import { statement } from '../../database/database.ts'

/** Whoever else wants to change it waits, and sees what this transaction has done. */
export const lockCursor = statement(
  'lock_cursor',
  'SELECT webhook_id AS "webhookId", position FROM cursors WHERE part = $1 AND webhook_id = $2 FOR NO KEY UPDATE',
)

/** $3 number, $4 its day, $5 its entity, $6 now. */
export const sendAgain = statement('send_again', 'SELECT send_again($1, $2, $3, $4, $5, $6) AS round')

/** $3: the entity; null for all that wait for their next attempt. */
export const hurryCursor = statement('hurry_cursor', 'SELECT hurry_cursor($1, $2, $3, $4) AS hurried')

/** One that was asked for again ($3 number, $4 round) is due now. For whoever has locked its cursor. */
export const hurryAgain = statement(
  'hurry_again',
  'UPDATE agains SET due_at = $5, written_at = $5 WHERE part = $1 AND webhook_id = $2 AND seq = $3 AND round = $4 AND due_at > $5',
)

/** $3 number, $4 its day, $5 its entity, $6 why, $7 who, $8 now. */
export const skipOne = statement('skip_one', 'SELECT skip_one($1, $2, $3, $4, $5, $6, $7, $8) AS skipped')

/** One that was asked for again: $3 number, $4 its day, $5 round, $6 why, $7 who, $8 now. */
export const skipAgain = statement('skip_again', 'SELECT skip_again($1, $2, $3, $4, $5, $6, $7, $8) AS skipped')

/** $3 why, $4 who, $5 now. */
export const skipToNow = statement('skip_to_now', 'SELECT skip_to_now($1, $2, $3, $4, $5) AS upto')

/** $3 up to which number, $4 now. */
export const expireUpTo = statement('expire_up_to', "SELECT pass_cursor($1, $2, $3, 'expired', NULL, NULL, $4)")

/** $3 from which number on, $4 entity, $5 and $6 from when to when, $7 only what was given up, $8 since when, $9 now. */
export const startReplay = statement('start_replay', 'SELECT start_replay($1, $2, $3, $4, $5, $6, $7, $8, $9) AS round')

/** $3 round, $4 now. */
export const cancelReplay = statement('cancel_replay', 'SELECT cancel_replay($1, $2, $3, $4) AS canceled')

/** A hint for the worker that has the lane, or will take it: nothing depends on it. */
export const tellOfAct = statement(
  'tell_of_act',
  "SELECT announce('webhook:' || $2::bigint), pg_notify('countersign_work', ' ' || $1::int || ' ')",
)
