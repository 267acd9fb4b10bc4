import { instant, int, json, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { StoredPicture } from '../vocabulary/brand.ts'
import { environments } from '../vocabulary/environment.ts'

const columns = `client_looks.client_id AS "clientId", client_looks.state, client_looks.version,
  client_looks.purpose, client_looks.website, client_looks.privacy_url AS "privacyUrl",
  client_looks.terms_url AS "termsUrl",
  (SELECT json_build_object('hash', i.hash, 'type', i.type, 'width', i.width, 'height', i.height)
    FROM images i WHERE i.hash = client_looks.logo) AS logo,
  client_looks.given_at AS "givenAt", client_looks.decided_at AS "decidedAt", client_looks.reason`

const row = {
  clientId: text,
  state: oneOf('pending', 'shown', 'declined'),
  version: int,
  purpose: orNull(text),
  website: orNull(text),
  privacyUrl: orNull(text),
  termsUrl: orNull(text),
  logo: orNull(json<StoredPicture>()),
  givenAt: instant,
  decidedAt: orNull(instant),
  reason: orNull(text),
}

export const selectLooks = statement({
  name: 'select_client_looks',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM client_looks WHERE client_id = :clientId`,
})

export const selectShownLook = statement({
  name: 'select_shown_client_look',
  takes: { clientId: text },
  gives: row,
  text: `SELECT ${columns} FROM client_looks WHERE client_id = :clientId AND state = 'shown'`,
})

/** Whatever waited before is replaced. */
export const upsertPendingLook = statement({
  name: 'upsert_pending_client_look',
  takes: {
    clientId: text,
    givenAt: instant,
    purpose: orNull(text),
    website: orNull(text),
    privacyUrl: orNull(text),
    termsUrl: orNull(text),
    logo: orNull(text),
  },
  text: `INSERT INTO client_looks (client_id, state, version, given_at, purpose, website, privacy_url,
     terms_url, logo)
   SELECT :clientId, 'pending',
     1 + coalesce((SELECT max(version) FROM client_looks WHERE client_id = :clientId), 0),
     :givenAt, :purpose, :website, :privacyUrl, :termsUrl, :logo
   ON CONFLICT (client_id, state) DO UPDATE SET version = excluded.version, given_at = excluded.given_at,
     purpose = excluded.purpose, website = excluded.website, privacy_url = excluded.privacy_url,
     terms_url = excluded.terms_url, logo = excluded.logo`,
})

export const deleteLook = statement({
  name: 'delete_client_look',
  takes: { clientId: text, state: text },
  text: 'DELETE FROM client_looks WHERE client_id = :clientId AND state = :state RETURNING version',
})

export const decideLook = statement({
  name: 'decide_client_look',
  takes: { clientId: text, state: text, decidedAt: instant, reason: orNull(text) },
  text: `UPDATE client_looks SET state = :state, decided_at = :decidedAt, reason = :reason
   WHERE client_id = :clientId AND state = 'pending' RETURNING version`,
})

/** Those that wait for an operator, longest first. */
export const selectLooksAsked = statement({
  name: 'select_client_looks_asked',
  takes: { most: int },
  gives: {
    branchId: int,
    name: text,
    clientId: text,
    client: text,
    environment: oneOf(...environments),
    purpose: orNull(text),
    since: instant,
  },
  text: `SELECT p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, c.environment, l.purpose,
     l.given_at AS since
   FROM client_looks l JOIN clients c ON c.id = l.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE l.state = 'pending' ORDER BY l.given_at LIMIT :most`,
})
