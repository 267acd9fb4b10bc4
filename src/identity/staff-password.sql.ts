import { tellStaff } from '../notices/notices.sql.ts'

/** $4 keys it, $5 is told to whoever has one of the roles of $6, where staff have a provider to sign in at. */
export const tellOfStaffPassword = tellStaff(
  'tell_of_staff_password',
  'staff-password',
  `SELECT $4::text AS key, $5::jsonb AS facts, '' AS about, $6::text[] AS roles
   WHERE EXISTS (SELECT FROM identity_providers WHERE kind = 'staff' AND enabled_at IS NOT NULL)`,
)
