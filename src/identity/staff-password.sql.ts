import { tellOperators } from '../notices/notices.sql.ts'

/** $4 keys it, $5 is told, where staff have a provider to sign in at. */
export const tellOfStaffPassword = tellOperators(
  'tell_of_staff_password',
  'staff-password',
  `SELECT $4::text AS key, $5::jsonb AS facts WHERE EXISTS (SELECT FROM identity_providers WHERE kind = 'staff')`,
)
