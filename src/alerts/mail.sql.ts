import { int, list, text } from '../database/column.ts'
import { tellMembers, tellStaff } from '../notices/notices.sql.ts'
import type { PartnerAlertKind } from '../vocabulary/alert-kind.ts'

const toMembers = <
  Kind extends 'webhook-failing' | 'webhook-recovered' | 'webhook-disabled' | 'secret-expiring',
>(
  name: string,
  kind: Kind,
) =>
  tellMembers({
    name,
    kind,
    takes: { ids: list(int) },
    found: `SELECT t.branch_id, a.key || ':' || t.environment AS key, a.facts FROM alerts a
      JOIN alert_targets t ON t.id = a.target_id WHERE a.id = ANY (:ids::bigint[])`,
  })

export const tellMembersOf = {
  failing: toMembers('tell_members_of_failing', 'webhook-failing'),
  recovered: toMembers('tell_members_of_recovered', 'webhook-recovered'),
  disabled: toMembers('tell_members_of_disabled', 'webhook-disabled'),
  expiring: toMembers('tell_members_of_expiring', 'secret-expiring'),
} satisfies Record<PartnerAlertKind, unknown>

export const tellOperators = tellStaff({
  name: 'tell_operators_of_alerts',
  kind: 'operations',
  takes: { ids: list(int), roles: list(text) },
  found: `SELECT a.key, jsonb_build_object('kind', a.kind, 'facts', a.facts) AS facts, '' AS about,
     :roles::text[] AS roles FROM alerts a WHERE a.id = ANY (:ids::bigint[])`,
})
