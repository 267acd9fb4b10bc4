import { statement } from '../database/database.ts'

const columns = `client_looks.client_id AS "clientId", client_looks.state, client_looks.version, client_looks.purpose, client_looks.website,
  client_looks.privacy_url AS "privacyUrl", client_looks.terms_url AS "termsUrl",
  (SELECT json_build_object('hash', i.hash, 'type', i.type, 'width', i.width, 'height', i.height) FROM images i WHERE i.hash = client_looks.logo) AS logo,
  client_looks.given_at AS "givenAt", client_looks.decided_at AS "decidedAt", client_looks.reason`

export const selectLooks = statement('select_client_looks', `SELECT ${columns} FROM client_looks WHERE client_id = $1`)

export const selectShownLook = statement(
  'select_shown_client_look',
  `SELECT ${columns} FROM client_looks WHERE client_id = $1 AND state = 'shown'`,
)

/** Whatever waited before is replaced. */
export const upsertPendingLook = statement(
  'upsert_pending_client_look',
  `INSERT INTO client_looks (client_id, state, version, given_at, purpose, website, privacy_url, terms_url, logo)
   SELECT $1, 'pending', 1 + coalesce((SELECT max(version) FROM client_looks WHERE client_id = $1), 0), $2, $3, $4, $5, $6, $7
   ON CONFLICT (client_id, state) DO UPDATE SET version = excluded.version, given_at = excluded.given_at, purpose = excluded.purpose,
     website = excluded.website, privacy_url = excluded.privacy_url, terms_url = excluded.terms_url, logo = excluded.logo`,
)

export const deleteLook = statement(
  'delete_client_look',
  'DELETE FROM client_looks WHERE client_id = $1 AND state = $2 RETURNING version',
)

export const decideLook = statement(
  'decide_client_look',
  `UPDATE client_looks SET state = $2, decided_at = $3, reason = $4 WHERE client_id = $1 AND state = 'pending' RETURNING version`,
)

/** Those that wait for an operator, longest first. */
export const selectLooksAsked = statement(
  'select_client_looks_asked',
  `SELECT p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, l.purpose, l.given_at AS since
   FROM client_looks l JOIN clients c ON c.id = l.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE l.state = 'pending' ORDER BY l.given_at LIMIT $1`,
)
