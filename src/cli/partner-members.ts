import {
  inviteMember,
  type ListedInvitation,
  listInvitations,
  withdrawInvitation,
} from '../partners/invitation.ts'
import {
  addMember,
  getPartner,
  listMembers,
  type Partner,
  removeMember,
  setMemberRole,
} from '../partners/partner.ts'
import { NotFound } from '../problem.ts'
import { getUserNamed, type User } from '../users/user.ts'
import { findMemberRole, type MemberRole, memberRoles } from '../vocabulary/member-role.ts'
import { type Command, type CommandWords, type Option, UsageError, type WriteContext } from './command.ts'

const role: Option = {
  name: 'role',
  value: 'ROLE',
  required: true,
  meaning: `one of ${memberRoles.join(', ')}`,
}

export const partnerMemberCommands: readonly Command[] = [
  {
    name: 'partner members',
    needs: 'reading',
    summary: 'Lists the members of a partner with their roles.',
    positionals: ['partner'],
    async run({ db, print }, { positional }) {
      const members = await listMembers(db, await getPartner(db, positional('partner')))
      const rows = members.map(({ username, name, role, addedAt }) => ({
        username,
        name,
        role,
        member_since: addedAt,
      }))
      print.table(rows, 'It has no members.')
    },
  },
  onMember(
    'add-member',
    'Makes a user a member of a partner.',
    [{ ...role, required: false, meaning: `${role.meaning}; owner unless given` }],
    ({ db, act }, partner, user, words) => addMember(db, partner, user, act(), readRole(words, 'owner')),
  ),
  onMember('set-role', 'Changes what a member may do.', [role], ({ db, act }, partner, user, words) =>
    setMemberRole(db, partner, user, readRole(words), act()),
  ),
  onMember(
    'remove-member',
    'Ends the membership of a user. The last owner cannot be removed.',
    [],
    ({ db, act }, partner, user) => removeMember(db, partner, user, act()),
  ),
  {
    name: 'partner invite',
    needs: 'database',
    summary: 'Invites somebody by mail to be a member of a partner, for seven days.',
    positionals: ['partner'],
    options: [{ name: 'email', value: 'ADDRESS', required: true, meaning: 'where the link goes' }, role],
    async run({ db, vault, act, clock, print }, words) {
      const partner = await getPartner(db, words.positional('partner'))
      await inviteMember({ db, vault }, partner, { email: words.get('email'), role: readRole(words) }, act())
      const sent = await listInvitations(db, partner, clock.now())
      const newest = sent.at(-1)
      if (newest) print.record(printInvitation(newest))
    },
  },
  {
    name: 'partner invitations',
    needs: 'reading',
    summary: 'Lists the invitations of a partner that nobody has answered.',
    positionals: ['partner'],
    async run({ db, clock, print }, { positional }) {
      const invitations = await listInvitations(db, await getPartner(db, positional('partner')), clock.now())
      print.table(invitations.map(printInvitation), 'Nobody is invited.')
    },
  },
  {
    name: 'partner uninvite',
    needs: 'database',
    summary: 'Withdraws an invitation: its link no longer works.',
    positionals: ['partner', 'invitation'],
    async run({ db, act, clock, print }, { positional }) {
      const partner = await getPartner(db, positional('partner'))
      const invitations = await listInvitations(db, partner, clock.now())
      const chosen = invitations.find(({ id }) => String(id) === positional('invitation'))
      if (!chosen) throw new NotFound(`${partner.name} has no invitation ${positional('invitation')}.`)
      await withdrawInvitation(db, partner, chosen.id, act())
      print.record({ ...printInvitation(chosen), open: false })
    },
  },
]

function printInvitation({ id, email, role, invitedBy, sentAt, expiresAt, isOpen }: ListedInvitation) {
  return { id, email, role, invited_by: invitedBy, sent_at: sentAt, expires_at: expiresAt, open: isOpen }
}

function readRole(words: CommandWords, usual?: MemberRole): MemberRole {
  const text = words.find('role')
  const role = text === undefined ? usual : findMemberRole(text)
  if (!role) throw new UsageError(`--role must be one of ${memberRoles.join(', ')}.`)
  return role
}

type Change = (context: WriteContext, partner: Partner, user: User, words: CommandWords) => Promise<void>

function onMember(verb: string, summary: string, options: readonly Option[], change: Change): Command {
  return {
    name: `partner ${verb}`,
    needs: 'database',
    summary,
    positionals: ['partner', 'user'],
    options,
    async run(context, words) {
      const { db, print } = context
      const partner = await getPartner(db, words.positional('partner'))
      await change(context, partner, await getUserNamed(db, words.positional('user')), words)
      const members = await listMembers(db, partner)
      print.record({ partner: partner.name, members: members.map(({ username }) => username) })
    },
  }
}
