import { bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { isOtherResource, resourcesOf, scopesLeft, stillHolds } from './reach.sql.ts'

export const refusals = [
  'unknown',
  'revoked',
  'reused',
  'paused',
  'no-account',
  'no-scope',
  'wider-scope',
  'other-resource',
] as const

/** Without rotation: any number of refreshes in one statement; the refresh token itself is only read. */
export const refreshTokens = statement({
  name: 'refresh_tokens',
  takes: {
    places: list(int),
    hashes: list(bytes),
    clientIds: list(text),
    scopes: list(orNull(text)),
    resources: list(orNull(text)),
    bindings: list(orNull(text)),
    accessHashes: list(bytes),
    addresses: list(orNull(text)),
    requestIds: list(orNull(text)),
    issuedAt: instant,
    expiresAt: instant,
    environment: text,
  },
  gives: { place: int, grantId: int, outcome: oneOf('refreshed', ...refusals), scopes: list(text) },
  text: `WITH asked AS (
     SELECT * FROM unnest(:places::int[], :hashes::bytea[], :clientIds::text[], :scopes::text[],
         :resources::text[], :bindings::text[], :accessHashes::bytea[], :addresses::text[], :requestIds::text[])
       AS asked (place, hash, client_id, scope, resources, binding, access_hash, address, request_id)),
   judged AS MATERIALIZED (
     SELECT asked.place, asked.access_hash, asked.binding, asked.address, asked.request_id, g.id AS grant_id, g.user_id,
       g.client_id,
       coalesce(string_to_array(asked.scope, ' '), left_over.scopes) AS scopes,
       ${resourcesOf('asked.resources')} AS resources,
       CASE
         WHEN g.client_id <> asked.client_id THEN 'unknown'
         WHEN r.replaced_at IS NOT NULL THEN 'reused'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(left_over.scopes) = 0 THEN 'no-scope'
         WHEN NOT string_to_array(asked.scope, ' ') <@ left_over.scopes THEN 'wider-scope'
         WHEN ${isOtherResource('asked.resources')} THEN 'other-resource'
         ELSE 'refreshed'
       END AS outcome
     FROM asked CROSS JOIN LATERAL (SELECT * FROM refresh_tokens WHERE hash = asked.hash OFFSET 0) r
     JOIN grants g ON g.id = r.grant_id JOIN authorizations a ON a.id = g.authorization_id
       JOIN users u ON u.id = g.user_id
     JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) left_over),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, resources, binding, issued_at, expires_at)
     SELECT access_hash, grant_id, scopes, resources, binding, :issuedAt, :expiresAt FROM judged WHERE outcome = 'refreshed'),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT :issuedAt, 'client:' || client_id, 'token.refreshed', 'user:' || user_id, :environment, address,
       request_id, jsonb_build_object('grantId', grant_id)
     FROM judged WHERE outcome = 'refreshed')
   SELECT place, grant_id AS "grantId", outcome, scopes FROM judged`,
})

/**
 * With rotation: the presented token is replaced by its one child. A second request inside the grace window,
 * before the child was used, is answered as the first was; a later one means that the token was copied.
 */
export const rotateToken = statement({
  name: 'rotate_refresh_token',
  takes: {
    hash: bytes,
    clientId: text,
    scope: orNull(text),
    resources: orNull(text),
    binding: orNull(text),
    accessHash: bytes,
    refreshHash: bytes,
    issuedAt: instant,
    expiresAt: instant,
    environment: text,
    address: orNull(text),
    requestId: orNull(text),
    graceFrom: instant,
  },
  gives: { grantId: int, outcome: oneOf('rotated', 'repeated', ...refusals), scopes: list(text) },
  text: `WITH found AS MATERIALIZED (
     SELECT r.id, r.grant_id, r.replaced_at FROM refresh_tokens r WHERE r.hash = :hash FOR UPDATE),
   judged AS MATERIALIZED (
     SELECT f.id, f.grant_id, g.user_id, g.client_id,
       coalesce(string_to_array(:scope, ' '), left_over.scopes) AS scopes,
       ${resourcesOf(':resources')} AS resources,
       CASE
         WHEN g.client_id <> :clientId THEN 'unknown'
         WHEN g.revoked_at IS NOT NULL OR a.revoked_at IS NOT NULL OR u.status <> 'active' THEN 'revoked'
         WHEN f.replaced_at > :graceFrom AND NOT EXISTS (
           SELECT FROM refresh_tokens child WHERE child.parent_id = f.id AND child.replaced_at IS NOT NULL)
           THEN coalesce(left_over.obstacle, 'repeated')
         WHEN f.replaced_at IS NOT NULL THEN 'reused'
         WHEN left_over.obstacle IS NOT NULL THEN left_over.obstacle
         WHEN NOT string_to_array(:scope, ' ') <@ left_over.scopes THEN 'wider-scope'
         WHEN ${isOtherResource(':resources')} THEN 'other-resource'
         ELSE 'rotated'
       END AS outcome
     FROM found f JOIN grants g ON g.id = f.grant_id
     JOIN authorizations a ON a.id = g.authorization_id JOIN users u ON u.id = g.user_id
       JOIN clients c ON c.id = g.client_id
     CROSS JOIN LATERAL (
       SELECT scopes, CASE
         WHEN a.paused_at IS NOT NULL THEN 'paused'
         WHEN NOT ${stillHolds} THEN 'no-account'
         WHEN cardinality(scopes) = 0 THEN 'no-scope' END AS obstacle
       FROM (SELECT ${scopesLeft('g.scopes')} AS scopes OFFSET 0) reached) left_over),
   replaced AS (
     UPDATE refresh_tokens SET replaced_at = :issuedAt
       WHERE id = ANY (ARRAY(SELECT id FROM judged WHERE outcome = 'rotated'))),
   child AS (
     INSERT INTO refresh_tokens (hash, grant_id, parent_id, issued_at)
     SELECT :refreshHash, grant_id, id, :issuedAt FROM judged WHERE outcome = 'rotated'),
   issued AS (
     INSERT INTO access_tokens (hash, grant_id, scopes, resources, binding, issued_at, expires_at)
     SELECT :accessHash, grant_id, scopes, resources, :binding, :issuedAt, :expiresAt FROM judged WHERE outcome = 'rotated'),
   audited AS (
     INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
     SELECT :issuedAt, 'client:' || client_id, 'token.rotated', 'user:' || user_id, :environment, :address,
       :requestId, jsonb_build_object('grantId', grant_id)
     FROM judged WHERE outcome = 'rotated')
   SELECT grant_id AS "grantId", outcome, scopes FROM judged`,
})

/**
 * What the first of two equal refreshes was answered with, or what is left of it; each pair of hashes is what
 * one secret key gives.
 */
export const selectRotation = statement({
  name: 'select_rotation',
  takes: { accessHashes: list(bytes), refreshHashes: list(bytes) },
  gives: { hash: bytes, scopes: list(text), binding: orNull(text), issuedAt: instant },
  text: `SELECT t.hash, t.binding, ${scopesLeft('t.scopes')} AS scopes, t.issued_at AS "issuedAt"
   FROM access_tokens t JOIN refresh_tokens r ON r.grant_id = t.grant_id
   JOIN grants g ON g.id = t.grant_id JOIN authorizations a ON a.id = g.authorization_id
     JOIN clients c ON c.id = g.client_id
   WHERE t.hash = ANY (:accessHashes::bytea[]) AND r.hash = ANY (:refreshHashes::bytea[])`,
})
