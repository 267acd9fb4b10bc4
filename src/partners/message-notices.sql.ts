import { instant, int, orNull, text } from '../database/column.ts'
import { tellMembers, tellStaff } from '../notices/notices.sql.ts'
import { rolesWith } from '../vocabulary/permission.ts'

export const tellDecided = tellMembers({
  name: 'tell_partner_decided',
  kind: 'partner-decided',
  takes: { branchId: int, status: text, reason: orNull(text) },
  found: `SELECT p.branch_id, p.branch_id || ':' || p.revision AS key,
     jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'status', :status::text,
       'reason', :reason::text) AS facts
   FROM partners p WHERE p.branch_id = :branchId`,
})

export const tellProfile = tellMembers({
  name: 'tell_client_profile',
  kind: 'client-profile',
  takes: { clientId: text, setAt: instant },
  found: `SELECT p.branch_id, c.id || ':' || extract(epoch FROM :setAt::timestamptz) AS key,
     jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'environment', c.environment,
       'clientId', c.id, 'client', c.name, 'from', c.fapi2_from, 'endsBearers', c.fapi2_ends_bearers,
       'hasSecret', EXISTS (SELECT FROM client_secrets s WHERE s.client_id = c.id AND s.revoked_at IS NULL
         AND (s.expires_at IS NULL OR s.expires_at > :setAt))) AS facts
   FROM clients c JOIN partners p ON p.branch_id = c.branch_id WHERE c.id = :clientId`,
})

/** To whom the message is not from. */
const written = (readBy: 'partner' | 'brokerage') => ({
  kind: 'partner-message' as const,
  takes: { branchId: int, messageId: text },
  found: `SELECT p.branch_id, '' AS about, '{${rolesWith('partners.manage')}}'::text[] AS roles,
     :messageId::text AS key,
     jsonb_build_object('partner', p.name, 'branchId', p.branch_id, 'readBy', '${readBy}') AS facts
   FROM partners p WHERE p.branch_id = :branchId`,
})

export const tellMembersOfMessage = tellMembers({ name: 'tell_members_of_message', ...written('partner') })

export const tellStaffOfMessage = tellStaff({ name: 'tell_staff_of_message', ...written('brokerage') })
