import { statement } from '../database/database.ts'

export const insertInvitation = statement(
  'insert_invitation',
  'INSERT INTO member_invitations (branch_id, username, invited_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING username',
)

const columns = 'i.branch_id AS "branchId", i.username, p.name AS "partnerName", i.invited_at AS "invitedAt"'

export const selectOfBranch = statement(
  'select_invitations_of_branch',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.branch_id = $1 ORDER BY i.invited_at, i.username`,
)

export const selectOfUser = statement(
  'select_invitations_of_user',
  `SELECT ${columns} FROM member_invitations i JOIN partners p USING (branch_id) WHERE i.username = $1 ORDER BY i.invited_at`,
)

export const deleteInvitation = statement(
  'delete_invitation',
  'DELETE FROM member_invitations WHERE branch_id = $1 AND username = $2 RETURNING username',
)
