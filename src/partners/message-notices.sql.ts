import { tellMembers, tellStaff } from '../notices/notices.sql.ts'
import { rolesWith } from '../permission.ts'

export const tellDecided = tellMembers(
  'tell_partner_decided',
  'partner-decided',
  `SELECT p.branch_id, p.branch_id || ':' || p.revision AS key,
          jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'status', $5::text, 'reason', $6::text) AS facts
   FROM partners p WHERE p.branch_id = $4`,
)

/** To whom the message is not from. */
const written = (readBy: 'partner' | 'brokerage') =>
  `SELECT p.branch_id, '' AS about, '{${rolesWith('partners.manage')}}'::text[] AS roles, $5::text AS key, jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'readBy', '${readBy}') AS facts
   FROM partners p WHERE p.branch_id = $4`

export const tellMembersOfMessage = tellMembers('tell_members_of_message', 'partner-message', written('partner'))

export const tellStaffOfMessage = tellStaff('tell_staff_of_message', 'partner-message', written('brokerage'))
