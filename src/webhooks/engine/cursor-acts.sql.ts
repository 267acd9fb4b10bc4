/**
 * What people do to a cursor: the kernel's functions (migrations/0012-engine.sql), in the transaction that
 * records the act.
 */
import { bool, instant, int, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

const cursor = { part: int, webhookId: int }

/** An entry of the log, of which the webhook has a delivery. */
const entry = { seq: int, day: int }

/** The reason, the actor and the moment. */
const said = { reason: text, by: text, now: instant }

/** Other transactions that change the cursor wait, and see what this one has done. */
export const lockCursor = statement({
  name: 'lock_cursor',
  takes: cursor,
  text: `SELECT webhook_id AS "webhookId", position FROM cursors
   WHERE part = :part AND webhook_id = :webhookId FOR NO KEY UPDATE`,
})

export const sendAgain = statement({
  name: 'send_again',
  takes: { ...cursor, ...entry, entity: text, now: instant },
  gives: { round: orNull(int) },
  text: 'SELECT send_again(:part, :webhookId, :seq, :day, :entity, :now) AS round',
})

/** Makes one entity due now, or all that wait for their next attempt. */
export const hurryCursor = statement({
  name: 'hurry_cursor',
  takes: { ...cursor, entity: orNull(text), now: instant },
  gives: { hurried: int },
  text: 'SELECT hurry_cursor(:part, :webhookId, :entity, :now) AS hurried',
})

/** A replayed delivery becomes due now. The calling transaction has locked the cursor. */
export const hurryAgain = statement({
  name: 'hurry_again',
  takes: { ...cursor, seq: int, round: int, now: instant },
  text: `UPDATE agains SET due_at = :now, written_at = :now
   WHERE part = :part AND webhook_id = :webhookId AND seq = :seq AND round = :round AND due_at > :now`,
})

export const skipOne = statement({
  name: 'skip_one',
  takes: { ...cursor, ...entry, entity: text, ...said },
  gives: { skipped: bool },
  text: 'SELECT skip_one(:part, :webhookId, :seq, :day, :entity, :reason, :by, :now) AS skipped',
})

/** Skips a replayed delivery. */
export const skipAgain = statement({
  name: 'skip_again',
  takes: { ...cursor, ...entry, round: int, ...said },
  gives: { skipped: bool },
  text: 'SELECT skip_again(:part, :webhookId, :seq, :day, :round, :reason, :by, :now) AS skipped',
})

/** Answers the number up to which it went. */
export const skipToNow = statement({
  name: 'skip_to_now',
  takes: { ...cursor, ...said },
  gives: { upto: int },
  text: 'SELECT skip_to_now(:part, :webhookId, :reason, :by, :now) AS upto',
})

export const expireUpTo = statement({
  name: 'expire_up_to',
  takes: { ...cursor, upto: int, now: instant },
  text: "SELECT pass_cursor(:part, :webhookId, :upto, 'expired', NULL, NULL, :now)",
})

/**
 * From a number on; of an entity, of what was published from a moment to another, of what was given up, of
 * what was given up since a moment.
 */
export const startReplay = statement({
  name: 'start_replay',
  takes: {
    ...cursor,
    first: int,
    entity: orNull(text),
    from: orNull(instant),
    to: orNull(instant),
    failed: bool,
    since: orNull(instant),
    now: instant,
  },
  gives: { round: orNull(int) },
  text: `SELECT start_replay(:part, :webhookId, :first, :entity, :from, :to, :failed, :since, :now) AS round`,
})

export const cancelReplay = statement({
  name: 'cancel_replay',
  takes: { ...cursor, round: int, now: instant },
  gives: { canceled: bool },
  text: 'SELECT cancel_replay(:part, :webhookId, :round, :now) AS canceled',
})

/**
 * With every act: a hint for the worker that holds the lane, or will take it; and where the part lies on another
 * server, act and record are committed together.
 */
export const tellOfAct = statement({
  name: 'tell_of_act',
  takes: cursor,
  text: `SELECT announce('webhook:' || :webhookId::bigint),
    pg_notify('countersign_work', ' ' || :part::int || ' '), commit_with_part()`,
})
