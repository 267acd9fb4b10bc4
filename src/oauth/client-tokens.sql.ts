import { bool, bytes, instant, int, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

export const insertClientToken = statement({
  name: 'insert_client_token',
  takes: { hash: bytes, clientId: text, binding: text, issuedAt: instant, expiresAt: instant },
  gives: { id: int },
  text: `INSERT INTO client_tokens (hash, client_id, binding, issued_at, expires_at)
   VALUES (:hash, :clientId, :binding, :issuedAt, :expiresAt) RETURNING id`,
})

export const selectClientToken = statement({
  name: 'select_client_token',
  takes: { hash: bytes },
  gives: {
    id: int,
    clientId: text,
    branchId: int,
    environment: oneOf(...environments),
    binding: text,
    expiresAt: instant,
    demandsDpopNonces: bool,
    inForce: bool,
  },
  text: `SELECT t.id, c.id AS "clientId", c.branch_id AS "branchId", c.environment, t.binding,
     t.expires_at AS "expiresAt", c.demands_dpop_nonces AS "demandsDpopNonces",
     (t.revoked_at IS NULL AND c.status = 'active' AND may_act(p.status, c.environment)) AS "inForce"
   FROM client_tokens t JOIN clients c ON c.id = t.client_id JOIN partners p USING (branch_id)
   WHERE t.hash = :hash`,
})

export const revokeClientToken = statement({
  name: 'revoke_client_token',
  takes: { hash: bytes, clientId: text, at: instant },
  gives: { id: int },
  text: `UPDATE client_tokens SET revoked_at = :at
   WHERE hash = :hash AND client_id = :clientId AND revoked_at IS NULL RETURNING id`,
})

export const deleteExpiredClientTokens = statement({
  name: 'delete_expired_client_tokens',
  takes: { now: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM client_tokens WHERE id = ANY (ARRAY(
     SELECT id FROM client_tokens WHERE expires_at <= :now LIMIT :most)) RETURNING id`,
})
