import { instant, int, list, oneOf, orNull, sure, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'
import { partnerStatuses } from './partner-status.ts'

export const selectApplicants = statement({
  name: 'select_applicants',
  takes: { most: int },
  gives: {
    branchId: int,
    name: text,
    status: oneOf(...partnerStatuses),
    revision: int,
    since: instant,
    website: orNull(text),
    contact: orNull(text),
    purpose: orNull(text),
  },
  text: `SELECT p.branch_id AS "branchId", p.name, p.status, p.revision,
     CASE WHEN p.revision = 0 THEN p.created_at ELSE p.updated_at END AS since,
     a.website, a.contact, a.purpose
   FROM partners p LEFT JOIN partner_applications a USING (branch_id) WHERE p.status = 'applied'
   ORDER BY p.branch_id LIMIT :most`,
})

export const selectRefreshAsked = statement({
  name: 'select_refresh_asked',
  takes: { most: int },
  gives: { branchId: int, name: text, reason: text, since: instant },
  text: `SELECT p.branch_id AS "branchId", p.name, r.reason, r.asked_at AS since
   FROM refresh_requests r JOIN partners p USING (branch_id) WHERE r.answered_at IS NULL
   ORDER BY r.asked_at, r.id LIMIT :most`,
})

/** What a client asks for and nobody has answered, the oldest first. */
const askedRow = {
  id: int,
  branchId: int,
  name: text,
  clientId: text,
  client: text,
  environment: oneOf(...environments),
}
const askedIn = (
  requests: string,
  what: string,
) => `SELECT r.id, p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, c.environment,
     ${what}, r.asked_at AS since
   FROM ${requests} r JOIN clients c ON c.id = r.client_id JOIN partners p ON p.branch_id = c.branch_id
   WHERE r.answered_at IS NULL ORDER BY r.asked_at, r.id LIMIT :most`

export const selectScopesAsked = statement({
  name: 'select_scopes_asked',
  takes: { most: int },
  gives: {
    ...askedRow,
    scopes: list(oneOf(...scopes)),
    reason: text,
    since: instant,
  },
  text: askedIn('scope_requests', 'r.scopes, r.reason'),
})

export const selectProfilesAsked = statement({
  name: 'select_profiles_asked',
  takes: { most: int },
  gives: {
    ...askedRow,
    wishedFrom: orNull(instant),
    since: instant,
  },
  text: askedIn('profile_requests', 'r.wished_from AS "wishedFrom"'),
})

/** Of live clients, secrets that are still used: the others may end without a notice. */
export const selectEndingSecrets = statement({
  name: 'select_ending_secrets',
  takes: { now: instant, before: instant, usedSince: instant, most: int },
  gives: {
    branchId: int,
    name: text,
    clientId: text,
    client: text,
    hint: text,
    endsAt: sure(instant),
    lastUsedAt: sure(instant),
  },
  text: `SELECT p.branch_id AS "branchId", p.name, c.id AS "clientId", c.name AS client, s.hint, s.expires_at AS "endsAt", s.last_used_at AS "lastUsedAt"
   FROM client_secrets s JOIN clients c ON c.id = s.client_id AND c.status = 'active'
     AND c.environment = 'live'
   JOIN partners p ON p.branch_id = c.branch_id AND may_act(p.status, c.environment)
   WHERE s.revoked_at IS NULL AND s.expires_at > :now AND s.expires_at <= :before
     AND s.last_used_at > :usedSince
   ORDER BY s.expires_at LIMIT :most`,
})

/**
 * Of the newest so many of the live site, of all partners: the partners that had at least so many since a moment, and for how
 * long.
 */
export const selectRefusedPartners = statement({
  name: 'select_refused_partners',
  takes: { since: instant, lookedAt: int, least: int, most: int },
  gives: { branchId: int, name: text, calls: int, since: instant },
  text: `SELECT p.branch_id AS "branchId", p.name, refused.calls, refused.since FROM (
     SELECT branch_id, sum(1 + left_out)::bigint AS calls, min(at) AS since
     FROM (SELECT branch_id, at, left_out FROM calls WHERE code IS NOT NULL AND at >= :since AND environment = 'live'
       ORDER BY at DESC LIMIT :lookedAt) newest
     GROUP BY branch_id HAVING sum(1 + left_out) >= :least) refused
   JOIN partners p USING (branch_id) ORDER BY refused.calls DESC LIMIT :most`,
})
