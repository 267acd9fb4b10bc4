import { statement } from '../database/database.ts'

const columns = `clients.id, clients.branch_id AS "branchId", clients.environment, clients.name, clients.callback_url AS "callbackUrl", clients.scopes,
  clients.scopes_at_most AS "scopesAtMost", clients.status, clients.rotate_refresh_tokens AS "rotateRefreshTokens", clients.created_at AS "createdAt"`

const secretColumns = `client_secrets.id, client_secrets.client_id AS "clientId", client_secrets.slot, client_secrets.hint,
  client_secrets.created_at AS "createdAt", client_secrets.signs_from AS "signsFrom", client_secrets.expires_at AS "expiresAt",
  client_secrets.last_used_at AS "lastUsedAt", client_secrets.revoked_at AS "revokedAt"`

export const insertClient = statement(
  'insert_client',
  `INSERT INTO clients (id, branch_id, environment, name, callback_url, scopes, scopes_at_most, rotate_refresh_tokens, created_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING ${columns}`,
)

export const selectClient = statement('select_client', `SELECT ${columns} FROM clients WHERE id = $1`)

export const selectClients = statement(
  'select_clients',
  `SELECT ${columns} FROM clients WHERE $1::int IS NULL OR branch_id = $1 ORDER BY created_at, id`,
)

export const updateClient = statement(
  'update_client',
  `UPDATE clients SET name = $2, callback_url = $3, scopes = coalesce($4, scopes), rotate_refresh_tokens = $5, updated_at = $6
   WHERE id = $1 RETURNING ${columns}`,
)

/**
 * What is newly allowed is on at once, and what the partner had left out stays out. A client that would be left with nothing may ask for
 * all that is allowed.
 */
export const updateScopesAtMost = statement(
  'update_scopes_at_most',
  `UPDATE clients SET scopes_at_most = $2::text[], updated_at = $3, scopes = coalesce(nullif(ARRAY(
     SELECT scope FROM unnest($2::text[]) AS scope
     WHERE scope = ANY (clients.scopes) OR scope <> ALL (clients.scopes_at_most)), '{}'), $2::text[])
   WHERE id = $1 RETURNING ${columns}`,
)

export const updateClientStatus = statement(
  'update_client_status',
  'UPDATE clients SET status = $2, updated_at = $3 WHERE id = $1',
)

/** The client as the authorization server sees it: with its partner's state and its living secrets. */
export const selectRegistration = statement(
  'select_registration',
  `SELECT ${columns}, p.name AS "partnerName", p.status AS "partnerStatus", p.refresh_access AS "refreshAccess",
          coalesce((SELECT json_agg(json_build_object('id', s.id, 'hash', encode(s.hash, 'hex'), 'createdAt', s.created_at, 'expiresAt', s.expires_at) ORDER BY s.id)
                    FROM client_secrets s WHERE s.client_id = clients.id AND s.revoked_at IS NULL), '[]') AS secrets
   FROM clients JOIN partners p USING (branch_id) WHERE clients.id = $1`,
)

export const insertSecret = statement(
  'insert_client_secret',
  `INSERT INTO client_secrets (client_id, slot, hash, sealed, hint, created_at, signs_from) VALUES ($1, $2, $3, $4, $5, $6, $7)
   RETURNING ${secretColumns}`,
)

export const retireExpiredSecrets = statement(
  'retire_expired_client_secrets',
  'UPDATE client_secrets SET revoked_at = expires_at WHERE client_id = $1 AND expires_at <= $2 AND revoked_at IS NULL',
)

export const expireSecrets = statement(
  'expire_client_secrets',
  `UPDATE client_secrets SET expires_at = least(expires_at, $3) WHERE client_id = $1 AND id <> $2 AND revoked_at IS NULL`,
)

export const revokeSecret = statement(
  'revoke_client_secret',
  'UPDATE client_secrets SET revoked_at = $3 WHERE client_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING id',
)

export const selectSecrets = statement(
  'select_client_secrets',
  `SELECT ${secretColumns} FROM client_secrets
   WHERE client_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) ORDER BY id`,
)

export const selectSecretsOfBranch = statement(
  'select_client_secrets_of_branch',
  `SELECT ${secretColumns} FROM clients c JOIN client_secrets ON client_secrets.client_id = c.id
   WHERE c.branch_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) ORDER BY client_secrets.id`,
)

export const selectClientNames = statement(
  'select_client_names',
  'SELECT id, name FROM clients WHERE id = ANY ($1::text[])',
)

export const lockClient = statement(
  'lock_client',
  'SELECT id, scopes_at_most AS "scopesAtMost" FROM clients WHERE id = $1 FOR UPDATE',
)

export const touchSecrets = statement(
  'touch_client_secrets',
  `UPDATE client_secrets s SET last_used_at = used.at FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)
   WHERE s.id = used.id AND (s.last_used_at IS NULL OR s.last_used_at < used.at)`,
)

export const selectSealed = statement(
  'select_sealed_secrets',
  'SELECT id, client_id AS "clientId", sealed FROM client_secrets WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE',
)

export const readSealed = statement(
  'read_sealed_secrets',
  'SELECT id, client_id AS "clientId", sealed FROM client_secrets WHERE id > $1 ORDER BY id LIMIT $2',
)

export const updateSealed = statement('update_sealed_secret', 'UPDATE client_secrets SET sealed = $2 WHERE id = $1')

export const selectApplicationNames = statement(
  'select_application_names',
  'SELECT c.name AS client, p.name AS partner FROM clients c JOIN partners p USING (branch_id) WHERE c.id = $1',
)

/** With whose they are. */
export const selectClientPlaces = statement(
  'select_client_places',
  'SELECT id, name, branch_id AS "branchId" FROM clients WHERE id = ANY ($1::text[])',
)
