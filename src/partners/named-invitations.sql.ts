import { statement } from '../database/database.ts'

const columns = 'i.branch_id AS "branchId", i.username, p.name AS "partnerName", i.invited_at AS "invitedAt"'

export const selectOfBranch = statement(
  'select_named_invitations_of_branch',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.branch_id = $1 ORDER BY i.invited_at, i.username`,
)

export const selectOfUser = statement(
  'select_named_invitations_of_user',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.username = $1 ORDER BY i.invited_at`,
)

export const deleteInvitation = statement(
  'delete_named_invitation',
  'DELETE FROM member_invitations WHERE branch_id = $1 AND username = $2 RETURNING username',
)
