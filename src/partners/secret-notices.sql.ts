import { instant } from '../database/column.ts'
import { tellMembers } from '../notices/notices.sql.ts'

export const tellEnding = tellMembers({
  name: 'tell_ending_secrets',
  kind: 'secret-expiring',
  takes: { before: instant },
  found: `SELECT c.branch_id, s.id || ':' || extract(epoch FROM s.expires_at) AS key,
     jsonb_build_object('environment', c.environment, 'partner', p.name, 'branchId', c.branch_id,
       'client', c.name, 'madeAt', s.created_at, 'endsAt', s.expires_at,
       'lastUsedAt', s.last_used_at) AS facts
   FROM client_secrets s
   JOIN clients c ON c.id = s.client_id AND c.status = 'active'
   JOIN partners p ON p.branch_id = c.branch_id AND may_act(p.status, c.environment)
   WHERE s.revoked_at IS NULL AND s.expires_at > :now AND s.expires_at <= :before`,
})
