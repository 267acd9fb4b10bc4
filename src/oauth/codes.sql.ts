import { statement } from '../database/database.ts'
import { scopesLeft, stillHolds } from './reach.sql.ts'

/**
 * Judges and exchanges any number of codes in one statement. Each code's row is locked in one order (no deadlock between
 * nodes), and whoever waited for the lock sees the row as the winner left it: one code, one winner. What was asked is joined to what
 * was found before anything else, so that it is done by hash.
 */
export const exchangeCodes = statement(
  'exchange_codes',
  `WITH asked AS (
     SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::text[])
       AS asked (code_hash, asking_client_id, asked_callback_url, asked_challenge, access_hash, refresh_hash, address, request_id)),
   found AS MATERIALIZED (
     SELECT * FROM grants WHERE code_hash = ANY ($1::bytea[]) ORDER BY id FOR UPDATE),
   judged AS MATERIALIZED (
     SELECT g.id, g.code_hash, left_over.scopes, g.user_id, g.client_id, g.access_hash, g.refresh_hash, g.address, g.request_id,
       CASE
         WHEN g.client_id <> g.asking_client_id THEN 'foreign'
         WHEN g.exchanged_at IS NOT NULL THEN 'replayed'
         WHEN g.code_expires_at <= $9 THEN 'expired'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN g.asked_callback_url <> g.callback_url THEN 'other-callback'
         WHEN g.code_challenge IS DISTINCT FROM g.asked_challenge THEN 'wrong-verifier'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(left_over.scopes) = 0 THEN 'no-scope'
         ELSE 'exchanged'
       END AS outcome
     FROM (SELECT * FROM found JOIN asked USING (code_hash) OFFSET 0) g
     JOIN authorizations a ON a.id = g.authorization_id JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) left_over),
   won AS (
     UPDATE grants SET exchanged_at = $9 WHERE id = ANY (ARRAY(SELECT id FROM judged WHERE outcome = 'exchanged'))),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, issued_at, expires_at)
     SELECT access_hash, id, scopes, $9, $10 FROM judged WHERE outcome = 'exchanged'),
   renewable AS (
     INSERT INTO refresh_tokens (hash, grant_id, issued_at)
     SELECT refresh_hash, id, $9 FROM judged WHERE outcome = 'exchanged' AND refresh_hash IS NOT NULL),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT $9, 'client:' || client_id, 'code.exchanged', 'user:' || user_id, $11, address, request_id, jsonb_build_object('grantId', id)
     FROM judged WHERE outcome = 'exchanged')
   SELECT code_hash AS "codeHash", id, outcome, scopes FROM judged`,
)

export const revokeGrant = statement(
  'revoke_grant',
  `UPDATE grants SET revoked_at = $2, revoked_reason = $3 WHERE id = $1 AND revoked_at IS NULL RETURNING id`,
)

/** Codes nobody traded, and grants all of whose tokens are gone. */
export const deleteSpentGrants = statement(
  'delete_spent_grants',
  `DELETE FROM grants WHERE id = ANY (ARRAY(
     SELECT g.id FROM grants g
     WHERE g.code_expires_at <= $1
       AND NOT EXISTS (SELECT FROM access_tokens t WHERE t.grant_id = g.id)
       AND NOT EXISTS (SELECT FROM refresh_tokens r WHERE r.grant_id = g.id)
     LIMIT $2)) RETURNING id`,
)
