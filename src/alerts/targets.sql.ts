import { bytes, instant, int, list, oneOf, orNull, sure, text, word } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import { environments } from '../vocabulary/environment.ts'

/** Of a partner on one site; of the brokerage where both are null. */
const owner = { branchId: orNull(int), environment: orNull(text) }
const ofOwner = `branch_id IS NOT DISTINCT FROM :branchId AND environment IS NOT DISTINCT FROM :environment
   AND state <> 'removed'`

const columns = `id, branch_id AS "branchId", environment, kind, state, url, what,
  wait_minutes AS "waitMinutes", created_at AS "createdAt"`
const row = {
  id: int,
  branchId: orNull(int),
  environment: orNull(oneOf(...environments)),
  kind: oneOf('mail', 'address'),
  state: oneOf('unconfirmed', 'confirmed', 'removed'),
  url: orNull(text),
  what: list(word<AlertKind>()),
  waitMinutes: int,
  createdAt: instant,
}

/** Serialises the additions of one owner, so that its limit holds. */
export const lockOwner = statement({
  name: 'lock_owner_of_alerts',
  takes: { owner: text },
  text: 'SELECT pg_advisory_xact_lock(hashtextextended(:owner, 0))',
})

export const countAddresses = statement({
  name: 'count_alert_addresses',
  takes: { ...owner, since: instant },
  gives: { living: int, made: int },
  text: `SELECT count(*) FILTER (WHERE state <> 'removed') AS living,
     count(*) FILTER (WHERE created_at > :since) AS made FROM alert_targets
   WHERE branch_id IS NOT DISTINCT FROM :branchId AND environment IS NOT DISTINCT FROM :environment
     AND kind = 'address'`,
})

/** Its secret is sealed for its id. */
export const insertTarget = statement({
  name: 'insert_alert_target',
  takes: {
    ...{ ...owner, id: int, url: text, sealed: bytes, what: list(text), waitMinutes: int, now: instant },
  },
  gives: row,
  text: `INSERT INTO alert_targets (id, branch_id, environment, kind, state, url, sealed, what, wait_minutes,
    created_at) OVERRIDING SYSTEM VALUE
   VALUES (:id, :branchId, :environment, 'address', 'unconfirmed', :url, :sealed, :what, :waitMinutes, :now)
   RETURNING ${columns}`,
})

export const nextTargetId = statement({
  name: 'next_alert_target_id',
  gives: { id: int },
  text: `SELECT nextval(pg_get_serial_sequence('alert_targets', 'id')) AS id`,
})

export const selectTargets = statement({
  name: 'select_alert_targets',
  takes: owner,
  gives: row,
  text: `SELECT ${columns} FROM alert_targets WHERE ${ofOwner} ORDER BY kind DESC, id`,
})

export const lockTarget = statement({
  name: 'lock_alert_target',
  takes: { ...owner, id: int },
  gives: { ...row, guesses: int },
  text: `SELECT ${columns}, guesses FROM alert_targets WHERE id = :id AND ${ofOwner} FOR UPDATE`,
})

export const updateTarget = statement({
  name: 'update_alert_target',
  takes: { id: int, what: list(text), waitMinutes: int },
  text: 'UPDATE alert_targets SET what = :what, wait_minutes = :waitMinutes WHERE id = :id',
})

export const updateState = statement({
  name: 'update_state_of_alert_target',
  takes: { id: int, state: text },
  text: 'UPDATE alert_targets SET state = :state WHERE id = :id',
})

export const updateGuesses = statement({
  name: 'update_guesses_of_alert_target',
  takes: { id: int, guesses: int },
  text: 'UPDATE alert_targets SET guesses = :guesses WHERE id = :id',
})

/** What waits for an address that is removed goes nowhere. */
export const giveUpWaiting = statement({
  name: 'give_up_waiting_alerts',
  takes: { targetId: int },
  text: `UPDATE alerts SET state = 'given up', held_until = NULL
   WHERE target_id = :targetId AND state = 'waiting'`,
})

/** The last code that was sent. */
export const selectLastCode = statement({
  name: 'select_last_alert_code',
  takes: { targetId: int, since: instant },
  gives: { id: int },
  text: `SELECT id FROM alerts WHERE target_id = :targetId AND kind = 'confirmation' AND created_at > :since
   ORDER BY id DESC LIMIT 1`,
})

const sealedRow = { id: int, sealed: sure(bytes) }
const pageOfSealed = `SELECT id, sealed FROM alert_targets WHERE id > :id AND sealed IS NOT NULL ORDER BY id
  LIMIT :most`

export const selectSealedTargets = statement({
  name: 'select_sealed_alert_targets',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: `${pageOfSealed} FOR UPDATE`,
})

export const readSealedTargets = statement({
  name: 'read_sealed_alert_targets',
  takes: { id: int, most: int },
  gives: sealedRow,
  text: pageOfSealed,
})

export const updateSealedTarget = statement({
  name: 'update_sealed_alert_target',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE alert_targets SET sealed = :sealed WHERE id = :id',
})
