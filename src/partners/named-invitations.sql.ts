import { statement } from '../database/database.ts'

const columns = 'i.branch_id AS "branchId", i.username, p.name AS "partnerName", i.invited_at AS "invitedAt"'

export const selectOfBranch = statement(
  'select_named_invitations_of_branch',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.branch_id = $1 ORDER BY i.invited_at, i.username`,
)

export const selectOfUser = statement(
  'select_named_invitations_of_user',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.username = $1 AND i.invited_at > $2
     AND p.status = 'approved' ORDER BY i.invited_at`,
)

export const consumeInvitation = statement(
  'consume_named_invitation',
  `DELETE FROM member_invitations i USING partners p WHERE p.branch_id = i.branch_id AND p.status = 'approved'
     AND i.branch_id = $1 AND i.username = $2 AND i.invited_at > $3 RETURNING i.username`,
)

export const deleteInvitation = statement(
  'delete_named_invitation',
  'DELETE FROM member_invitations WHERE branch_id = $1 AND username = $2 RETURNING username',
)
