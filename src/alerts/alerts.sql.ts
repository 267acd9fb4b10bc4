import { bool, bytes, instant, int, json, list, oneOf, orNull, text, uuid, word } from '../database/column.ts'
import { type RowOf, statement } from '../database/statement.ts'
import type { AlertFacts } from '../notices/alert.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'

type Facts = AlertFacts[AlertKind]
const facts = json<Facts>()

export const lockAlerts = statement({
  name: 'lock_alerts',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('alerts', 0))`,
})

const insert = 'INSERT INTO alerts (target_id, kind, key, webhook_id, facts, due_at, created_at)'
const once = 'ON CONFLICT (target_id, key) DO NOTHING RETURNING id'

/** Where alerts of branch `b` on site `e` go: to the partner, and to the brokerage. */
const wants = (kind: string, b: string, e: string) => `alert_targets t ON t.state = 'confirmed'
   AND ${kind} = ANY (t.what) AND (t.branch_id IS NULL OR t.branch_id = ${b} AND t.environment = ${e})`

const webhookFacts = (more: string) => `jsonb_build_object('environment', w.environment, 'partner', p.name,
   'branchId', w.branch_id, 'webhookId', w.id, 'url', w.url, 'since', ${more})`

const servedPartner = 'partners p ON p.branch_id = w.branch_id AND may_act(p.status, w.environment)'

/** Of those that fail: where they have been failing for as long as a target waits. */
export const insertFailing = statement({
  name: 'insert_failing_alerts',
  takes: { webhookIds: list(int), since: list(instant), now: instant },
  gives: { id: int },
  text: `${insert}
   SELECT t.id, 'failing', format('failing:%s:%s', w.id, extract(epoch FROM l.since)), w.id,
     ${webhookFacts('l.since')}, :now, :now
   FROM unnest(:webhookIds::bigint[], :since::timestamptz[]) AS l (webhook_id, since)
   JOIN webhooks w ON w.id = l.webhook_id AND w.state = 'active'
   JOIN ${servedPartner}
   JOIN ${wants("'failing'", 'w.branch_id', 'w.environment')}
     AND l.since + t.wait_minutes * interval '1 minute' <= :now
   ${once}`,
})

/** The last time that a target was told of a webhook that fails, unless it was told that it works again. */
const untoldRecovery = `SELECT DISTINCT ON (a.target_id, a.webhook_id) a.* FROM alerts a
   WHERE a.kind IN ('failing', 'recovered')`

export const selectToldFailing = statement({
  name: 'select_webhooks_told_failing',
  gives: { id: int, branchId: int, state: oneOf('active', 'paused', 'disabled', 'deleted') },
  text: `SELECT DISTINCT w.id, w.branch_id AS "branchId", w.state FROM (
     ${untoldRecovery} ORDER BY a.target_id, a.webhook_id, a.id DESC) a
   JOIN webhooks w ON w.id = a.webhook_id AND w.state = 'active'
   JOIN alert_targets t ON t.id = a.target_id AND t.state = 'confirmed' AND 'recovered' = ANY (t.what)
   WHERE a.kind = 'failing'`,
})

export const insertRecovered = statement({
  name: 'insert_recovered_alerts',
  takes: { webhookIds: list(int), now: instant },
  gives: { id: int },
  text: `${insert}
   SELECT t.id, 'recovered', 'recovered:' || a.id, w.id, ${webhookFacts("a.facts -> 'since'")}, :now, :now
   FROM (${untoldRecovery} AND a.webhook_id = ANY (:webhookIds::bigint[])
     ORDER BY a.target_id, a.webhook_id, a.id DESC) a
   JOIN webhooks w ON w.id = a.webhook_id AND w.state = 'active'
   JOIN ${servedPartner}
   JOIN ${wants("'recovered'", 'w.branch_id', 'w.environment')} AND t.id = a.target_id
   WHERE a.kind = 'failing'
   ${once}`,
})

/** Client secrets that end before then. The brokerage is told of those that are still in use. */
export const insertEnding = statement({
  name: 'insert_ending_alerts',
  takes: { before: instant, usedSince: instant, now: instant },
  gives: { id: int },
  text: `${insert}
   SELECT t.id, 'expiring', format('expiring:%s:%s', s.id, extract(epoch FROM s.expires_at)), NULL,
     jsonb_build_object('environment', c.environment, 'partner', p.name, 'branchId', c.branch_id,
       'client', c.name, 'madeAt', s.created_at, 'endsAt', s.expires_at, 'lastUsedAt', s.last_used_at),
     :now, :now
   FROM client_secrets s
   JOIN clients c ON c.id = s.client_id AND c.status = 'active'
   JOIN partners p ON p.branch_id = c.branch_id AND may_act(p.status, c.environment)
   JOIN ${wants("'expiring'", 'c.branch_id', 'c.environment')}
     AND (t.branch_id IS NOT NULL OR s.last_used_at > :usedSince)
   WHERE s.revoked_at IS NULL AND s.expires_at > :now AND s.expires_at <= :before
   ${once}`,
})

/** Secrets that signed a webhook before another took over: its own, and those of its client. */
export const insertEndingSigning = statement({
  name: 'insert_ending_signing_alerts',
  takes: { before: instant, overlapMinutes: int, now: instant },
  gives: { id: int },
  text: `${insert}
   SELECT t.id, 'expiring', format('expiring:webhook:%s:%s', w.id, extract(epoch FROM s.ends_at)), NULL,
     jsonb_build_object('environment', w.environment, 'partner', p.name, 'branchId', w.branch_id,
       'webhookId', w.id, 'url', w.url, 'endsAt', s.ends_at), :now, :now
   FROM (
     SELECT webhook_id, ends_at FROM webhook_secrets WHERE ends_at > :now AND ends_at <= :before
     UNION
     SELECT own.webhook_id, own.signs_from + :overlapMinutes::int * interval '1 minute' FROM webhook_secrets own
     WHERE own.signs_from > :now - :overlapMinutes::int * interval '1 minute'
       AND own.signs_from <= :before - :overlapMinutes::int * interval '1 minute'
       AND NOT EXISTS (SELECT FROM webhook_secrets o WHERE o.webhook_id = own.webhook_id AND o.id < own.id)) AS s
   JOIN webhooks w ON w.id = s.webhook_id AND w.state <> 'deleted'
   JOIN ${servedPartner}
   JOIN ${wants("'expiring'", 'w.branch_id', 'w.environment')} AND t.branch_id IS NOT NULL
   ${once}`,
})

/** Of programs that administer, those that are still in use. */
export const selectEndingCredentials = statement({
  name: 'select_ending_admin_credentials',
  takes: { before: instant, usedSince: instant, now: instant },
  gives: { id: int, name: text, endsAt: instant },
  text: `SELECT id, name, expires_at AS "endsAt" FROM admin_credentials WHERE revoked_at IS NULL
   AND expires_at > :now AND expires_at <= :before AND last_used_at > :usedSince ORDER BY id`,
})

/** What is the brokerage's alone: to each of its targets that waits no longer than this has lasted. */
export const insertOwnTroubles = statement({
  name: 'insert_alerts_of_the_brokerage',
  takes: { kind: text, key: text, facts, since: instant, now: instant },
  gives: { id: int },
  text: `${insert}
   SELECT t.id, :kind::text, :key::text, NULL, :facts::jsonb, :now::timestamptz, :now::timestamptz
   FROM alert_targets t WHERE t.branch_id IS NULL AND t.state = 'confirmed' AND :kind::text = ANY (t.what)
     AND :since::timestamptz + t.wait_minutes * interval '1 minute' <= :now
   ${once}`,
})

export const wantsOfBrokerage = statement({
  name: 'select_wants_of_the_brokerage',
  gives: { kind: word<AlertKind>() },
  text: `SELECT DISTINCT unnest(what) AS kind FROM alert_targets WHERE branch_id IS NULL
   AND state = 'confirmed'`,
})

/** A test, or the code that confirms an address. */
export const insertOwn = statement({
  name: 'insert_own_alert',
  takes: { targetId: int, kind: text, now: instant },
  text: `INSERT INTO alerts (target_id, kind, key, facts, due_at, created_at)
   VALUES (:targetId, :kind::text, :kind || ':' || gen_random_uuid(), '{}', :now, :now)`,
})

export const countOwnRows = statement({
  name: 'count_own_alerts',
  takes: { targetId: int, kind: text, since: instant },
  gives: { count: int },
  text: `SELECT count(*) AS count FROM alerts WHERE target_id = :targetId AND kind = :kind
   AND created_at > :since`,
})

export const areAlertsDue = `EXISTS (SELECT FROM alerts WHERE state = 'waiting' AND due_at <= round.now)`

const anyKind = oneOf(
  'failing',
  'recovered',
  'disabled',
  'expiring',
  'lag',
  'provider',
  'audit',
  'test',
  'confirmation',
)

/**
 * Everything that is due at one address, as one message. Not while a message is on its way there, nor after so
 * many to the addresses of its owner within the hour: then all that comes up waits, and goes out together.
 */
export const claimAlerts = statement({
  name: 'claim_alerts',
  takes: { claimId: uuid, now: instant, until: instant, hourAgo: instant, most: int, listed: int },
  gives: {
    id: int,
    kind: anyKind,
    facts,
    attempts: int,
    createdAt: instant,
    targetId: int,
    targetKind: oneOf('mail', 'address'),
    url: orNull(text),
    sealed: orNull(bytes),
    ofBrokerage: bool,
  },
  text: `WITH due AS MATERIALIZED (
     SELECT a.target_id, min(a.due_at) AS due_at FROM alerts a WHERE a.state = 'waiting' AND a.due_at <= :now
       GROUP BY a.target_id),
   target AS MATERIALIZED (
     SELECT t.* FROM due JOIN alert_targets t ON t.id = due.target_id AND t.state <> 'removed'
     LEFT JOIN partners p ON p.branch_id = t.branch_id
     WHERE (t.branch_id IS NULL OR may_act(p.status, t.environment))
       AND NOT EXISTS (SELECT FROM alerts a WHERE a.target_id = t.id AND a.state = 'waiting'
         AND a.held_until > :now)
       AND (SELECT count(DISTINCT a.claim_id) FROM alert_targets o
         JOIN alerts a ON a.target_id = o.id AND a.claimed_at > :hourAgo
         WHERE o.kind = t.kind AND o.branch_id IS NOT DISTINCT FROM t.branch_id) < :most
     ORDER BY due.due_at, t.id LIMIT 1)
   UPDATE alerts a SET claim_id = :claimId, claimed_at = :now, held_until = :until, due_at = :until,
     attempts = a.attempts + 1
   FROM target WHERE a.id IN (SELECT d.id FROM alerts d, target WHERE d.target_id = target.id
     AND d.state = 'waiting' AND d.due_at <= :now ORDER BY d.id LIMIT :listed)
   RETURNING a.id, a.kind, a.facts, a.attempts, a.created_at AS "createdAt", a.target_id AS "targetId",
     target.kind AS "targetKind", target.url, target.sealed, target.branch_id IS NULL AS "ofBrokerage"`,
})

export type ClaimedAlert = RowOf<typeof claimAlerts>

/** Only by who holds them: whose lease ran out writes nothing. */
export const settleAlerts = statement({
  name: 'settle_alerts',
  takes: {
    claimId: uuid,
    ids: list(int),
    state: text,
    dueAt: orNull(instant),
    outcome: orNull(text),
  },
  gives: { id: int },
  text: `UPDATE alerts SET state = :state, due_at = coalesce(:dueAt, due_at), outcome = :outcome,
     held_until = NULL
   WHERE claim_id = :claimId AND id = ANY (:ids::bigint[]) AND state = 'waiting' RETURNING id`,
})

export const selectLastAlerts = statement({
  name: 'select_last_alerts',
  takes: { targetIds: list(int), most: int },
  gives: {
    id: int,
    targetId: int,
    kind: anyKind,
    webhookId: orNull(int),
    state: oneOf('waiting', 'sent', 'given up'),
    outcome: orNull(text),
    attempts: int,
    createdAt: instant,
  },
  text: `SELECT id, target_id AS "targetId", kind, webhook_id AS "webhookId", state, outcome,
     attempts, created_at AS "createdAt"
   FROM alerts WHERE target_id = ANY (:targetIds::bigint[]) ORDER BY id DESC LIMIT :most`,
})

export const deleteOldAlerts = statement({
  name: 'delete_old_alerts',
  takes: { until: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM alerts WHERE id = ANY (ARRAY(
     SELECT id FROM alerts WHERE created_at <= :until LIMIT :most)) RETURNING id`,
})
