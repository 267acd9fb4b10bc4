import { statement } from '../database/database.ts'
import { scopesLeft, stillHolds } from './reach.sql.ts'

/** Without rotation: any number of refreshes in one statement; the refresh token itself is only read. */
export const refreshTokens = statement(
  'refresh_tokens',
  `WITH asked AS (
     SELECT * FROM unnest($1::int[], $2::bytea[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[])
       AS asked (place, hash, client_id, scope, access_hash, address, request_id)),
   judged AS MATERIALIZED (
     SELECT asked.place, asked.access_hash, asked.address, asked.request_id, g.id AS grant_id, g.user_id, g.client_id,
       coalesce(string_to_array(asked.scope, ' '), left_over.scopes) AS scopes,
       CASE
         WHEN g.client_id <> asked.client_id THEN 'unknown'
         WHEN r.replaced_at IS NOT NULL THEN 'reused'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(left_over.scopes) = 0 THEN 'no-scope'
         WHEN NOT string_to_array(asked.scope, ' ') <@ left_over.scopes THEN 'wider-scope'
         ELSE 'refreshed'
       END AS outcome
     FROM asked CROSS JOIN LATERAL (SELECT * FROM refresh_tokens WHERE hash = asked.hash OFFSET 0) r
     JOIN grants g ON g.id = r.grant_id JOIN authorizations a ON a.id = g.authorization_id JOIN users u ON u.id = g.user_id
     JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) left_over),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, issued_at, expires_at)
     SELECT access_hash, grant_id, scopes, $8, $9 FROM judged WHERE outcome = 'refreshed'),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT $8, 'client:' || client_id, 'token.refreshed', 'user:' || user_id, $10, address, request_id, jsonb_build_object('grantId', grant_id)
     FROM judged WHERE outcome = 'refreshed')
   SELECT place, grant_id AS "grantId", outcome, scopes FROM judged`,
)

/**
 * With rotation: the presented token is replaced by its one child. Whoever comes second inside the grace window, before
 * the child was used, is answered as the first was; later, somebody else holds a copy.
 */
export const rotateToken = statement(
  'rotate_refresh_token',
  `WITH found AS MATERIALIZED (
     SELECT r.id, r.grant_id, r.replaced_at FROM refresh_tokens r WHERE r.hash = $1 FOR UPDATE),
   judged AS MATERIALIZED (
     SELECT f.id, f.grant_id, g.user_id, g.client_id, coalesce(string_to_array($3, ' '), left_over.scopes) AS scopes,
       CASE
         WHEN g.client_id <> $2 THEN 'unknown'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN f.replaced_at > $6::timestamptz - $11::interval AND NOT EXISTS (
           SELECT FROM refresh_tokens child WHERE child.parent_id = f.id AND child.replaced_at IS NOT NULL)
           THEN coalesce(left_over.obstacle, 'repeated')
         WHEN f.replaced_at IS NOT NULL THEN 'reused'
         WHEN left_over.obstacle IS NOT NULL THEN left_over.obstacle
         WHEN NOT string_to_array($3, ' ') <@ left_over.scopes THEN 'wider-scope'
         ELSE 'rotated'
       END AS outcome
     FROM found f JOIN grants g ON g.id = f.grant_id
     JOIN authorizations a ON a.id = g.authorization_id JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (
       SELECT scopes, CASE
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(scopes) = 0 THEN 'no-scope' END AS obstacle
       FROM (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) reached) left_over),
   replaced AS (
     UPDATE refresh_tokens SET replaced_at = $6 WHERE id = ANY (ARRAY(SELECT id FROM judged WHERE outcome = 'rotated'))),
   child AS (
     INSERT INTO refresh_tokens (hash, grant_id, parent_id, issued_at)
     SELECT $5, grant_id, id, $6 FROM judged WHERE outcome = 'rotated'),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, issued_at, expires_at)
     SELECT $4, grant_id, scopes, $6, $7 FROM judged WHERE outcome = 'rotated'),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT $6, 'client:' || client_id, 'token.rotated', 'user:' || user_id, $8, $9, $10, jsonb_build_object('grantId', grant_id)
     FROM judged WHERE outcome = 'rotated')
   SELECT grant_id AS "grantId", outcome, scopes FROM judged`,
)

/** What the first of two equal refreshes was answered with, or what is left of it; each pair of hashes is what one secret key gives. */
export const selectRotation = statement(
  'select_rotation',
  `SELECT t.hash, ${scopesLeft('t.scopes')} AS scopes, t.issued_at AS "issuedAt"
   FROM access_tokens t JOIN refresh_tokens r ON r.grant_id = t.grant_id
   JOIN grants g ON g.id = t.grant_id JOIN authorizations a ON a.id = g.authorization_id JOIN clients c ON c.id = g.client_id
   WHERE t.hash = ANY ($1::bytea[]) AND r.hash = ANY ($2::bytea[])`,
)
