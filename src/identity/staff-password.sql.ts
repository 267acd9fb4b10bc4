import { json, list, text } from '../database/column.ts'
import type { NoticeFacts } from '../notices/facts.ts'
import { tellStaff } from '../notices/notices.sql.ts'

/** Staff with one of these roles are notified, where staff have a provider to sign in at. */
export const tellOfStaffPassword = tellStaff({
  name: 'tell_of_staff_password',
  kind: 'staff-password',
  takes: { key: text, facts: json<NoticeFacts['staff-password']>(), roles: list(text) },
  found: `SELECT :key::text AS key, :facts::jsonb AS facts, '' AS about, :roles::text[] AS roles
   WHERE EXISTS (SELECT FROM identity_providers WHERE kind = 'staff' AND enabled_at IS NOT NULL)`,
})
