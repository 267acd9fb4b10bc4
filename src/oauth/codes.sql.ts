import { bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { isOtherResource, resourcesOf, scopesLeft, stillHolds } from './reach.sql.ts'

export const outcomes = [
  'exchanged',
  'foreign',
  'replayed',
  'expired',
  'revoked',
  'paused',
  'other-callback',
  'wrong-verifier',
  'other-key',
  'other-resource',
  'no-account',
  'no-scope',
] as const

/**
 * Judges and exchanges any number of codes in one statement. Each code's row is locked in one order (no
 * deadlock between nodes), and a transaction that waited for the lock sees the row as the winner left it: one
 * code, one winner. What was asked is joined to what was found before anything else, so that it is done by
 * hash.
 */
export const exchangeCodes = statement({
  name: 'exchange_codes',
  takes: {
    codeHashes: list(bytes),
    clientIds: list(text),
    callbackUrls: list(orNull(text)),
    challenges: list(orNull(text)),
    bindings: list(orNull(text)),
    resources: list(orNull(text)),
    accessHashes: list(bytes),
    refreshHashes: list(orNull(bytes)),
    addresses: list(orNull(text)),
    requestIds: list(orNull(text)),
    issuedAt: instant,
    expiresAt: instant,
    environment: text,
  },
  gives: { codeHash: bytes, id: int, outcome: oneOf(...outcomes), scopes: list(text) },
  text: `WITH asked AS (
     SELECT * FROM unnest(:codeHashes::bytea[], :clientIds::text[], :callbackUrls::text[],
         :challenges::text[], :bindings::text[], :resources::text[], :accessHashes::bytea[], :refreshHashes::bytea[],
         :addresses::text[], :requestIds::text[])
       AS asked (code_hash, asking_client_id, asked_callback_url, asked_challenge, binding, asked_resources,
         access_hash, refresh_hash, address, request_id)),
   found AS MATERIALIZED (
     SELECT * FROM grants WHERE code_hash = ANY (:codeHashes::bytea[]) ORDER BY id FOR UPDATE),
   judged AS MATERIALIZED (
     SELECT g.id, g.code_hash, left_over.scopes, ${resourcesOf('g.asked_resources')} AS resources, g.user_id, g.client_id, g.access_hash, g.refresh_hash, g.binding,
       g.address, g.request_id,
       CASE
         WHEN g.client_id <> g.asking_client_id THEN 'foreign'
         WHEN g.exchanged_at IS NOT NULL THEN 'replayed'
         WHEN g.code_expires_at <= :issuedAt THEN 'expired'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN g.asked_callback_url <> g.callback_url THEN 'other-callback'
         WHEN g.code_challenge IS DISTINCT FROM g.asked_challenge THEN 'wrong-verifier'
         WHEN 'jkt:' || g.dpop_jkt <> coalesce(g.binding, '') THEN 'other-key'
         WHEN ${isOtherResource('g.asked_resources')} THEN 'other-resource'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(left_over.scopes) = 0 THEN 'no-scope'
         ELSE 'exchanged'
       END AS outcome
     FROM (SELECT * FROM found JOIN asked USING (code_hash) OFFSET 0) g
     JOIN authorizations a ON a.id = g.authorization_id JOIN users u ON u.id = g.user_id
       JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) left_over),
   won AS (
     UPDATE grants SET exchanged_at = :issuedAt
       WHERE id = ANY (ARRAY(SELECT id FROM judged WHERE outcome = 'exchanged'))),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, resources, binding, issued_at, expires_at)
     SELECT access_hash, id, scopes, resources, binding, :issuedAt, :expiresAt FROM judged WHERE outcome = 'exchanged'),
   renewable AS (
     INSERT INTO refresh_tokens (hash, grant_id, issued_at)
     SELECT refresh_hash, id, :issuedAt FROM judged WHERE outcome = 'exchanged' AND refresh_hash IS NOT NULL),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT :issuedAt, 'client:' || client_id, 'code.exchanged', 'user:' || user_id, :environment, address,
       request_id, jsonb_build_object('grantId', id)
     FROM judged WHERE outcome = 'exchanged')
   SELECT code_hash AS "codeHash", id, outcome, scopes FROM judged`,
})

export const revokeGrant = statement({
  name: 'revoke_grant',
  takes: { id: int, at: instant, reason: text },
  text: `UPDATE grants SET revoked_at = :at, revoked_reason = :reason WHERE id = :id AND revoked_at IS NULL
    RETURNING id`,
})

/** Codes that were never exchanged, and grants all of whose tokens are gone. */
export const deleteSpentGrants = statement({
  name: 'delete_spent_grants',
  takes: { now: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM grants WHERE id = ANY (ARRAY(
     SELECT g.id FROM grants g
     WHERE g.code_expires_at <= :now
       AND NOT EXISTS (SELECT FROM access_tokens t WHERE t.grant_id = g.id)
       AND NOT EXISTS (SELECT FROM refresh_tokens r WHERE r.grant_id = g.id)
     LIMIT :most)) RETURNING id`,
})
