import {
  applyAsPartner,
  findApplication,
  getPartner,
  listMembers,
  listPartners,
  type Partner,
  setPartnerStatus,
  setRefreshAccess,
} from '../partners/partner.ts'
import { listMessages, type PartnerMessage, sendMessage } from '../partners/partner-message.ts'
import { findRefreshRequest } from '../partners/refresh-request.ts'
import { breakGlass } from './break-glass.ts'
import type { Command, CommandWords, Option, WriteContext } from './command.ts'

export const partnerCommands: readonly Command[] = [
  {
    name: 'partner create',
    needs: 'database',
    summary: 'Registers a partner as applied, or as approved with --approve.',
    options: [
      { name: 'name', value: 'TEXT', required: true, meaning: 'the name account holders will see' },
      { name: 'approve', meaning: 'approve at once' },
      { name: 'refresh', meaning: 'grant refresh access at once' },
    ],
    async run(context, words) {
      const { db, act, print } = context
      const partner = await applyAsPartner(db, words.get('name'), act())
      if (words.has('approve')) await approve(context, partner)
      if (words.has('refresh')) await grantRefresh(context, partner)
      print.record(fieldsOf(await getPartner(db, String(partner.branchId))))
    },
  },
  {
    name: 'partner list',
    needs: 'reading',
    summary: 'Lists all partners.',
    run: async ({ db, print }) =>
      print.table((await listPartners(db)).map(fieldsOf), 'There are no partners.'),
  },
  {
    name: 'partner show',
    needs: 'reading',
    summary: 'Shows a partner with its members.',
    positionals: ['partner'],
    async run({ db, print }, { positional }) {
      const partner = await getPartner(db, positional('partner'))
      const members = (await listMembers(db, partner)).map((member) => member.username)
      const asked = await findRefreshRequest(db, partner)
      const open = asked && asked.answeredAt === null ? { asks_for_refresh: asked.reason } : {}
      print.record({ ...fieldsOf(partner), members, ...(await findApplication(db, partner)), ...open })
    },
  },
  onPartner('approve', 'Approves a partner that applied, was declined or was suspended.', [], approve),
  onPartner(
    'decline',
    'Declines an application: the sandbox closes, and its members may apply again.',
    [{ name: 'reason', value: 'TEXT', required: true, meaning: 'why; its members read it' }],
    ({ db, act }, partner, words) => setPartnerStatus(db, partner, 'declined', words.get('reason'), act()),
  ),
  onPartner(
    'suspend',
    'Suspends a partner: its clients and their tokens stop working at once.',
    [{ name: 'reason', value: 'TEXT', required: true, meaning: 'why, for the audit log' }],
    ({ db, act }, partner, words) => setPartnerStatus(db, partner, 'suspended', words.get('reason'), act()),
  ),
  {
    name: 'partner messages',
    needs: 'reading',
    summary: 'Lists what a partner and the brokerage wrote to each other, and what was decided when.',
    positionals: ['partner'],
    async run({ db, print }, { positional }) {
      const messages = await listMessages(db, await getPartner(db, positional('partner')), messagesListed)
      print.table(messages.map(printMessage), 'Nothing has been written yet.')
    },
  },
  onPartner(
    'write',
    'Writes a message to the members of a partner.',
    [{ name: 'text', value: 'TEXT', required: true, meaning: 'what they read on their page' }],
    ({ db, act }, partner, words) => sendMessage(db, partner, 'brokerage', words.get('text'), act()),
  ),
  onPartner('grant-refresh', 'Lets a partner renew access tokens by itself.', [], grantRefresh),
  onPartner(
    'withdraw-refresh',
    'Stops the refresh tokens of a partner at once.',
    [],
    ({ db, act }, partner) => setRefreshAccess(db, partner, false, act()),
  ),
]

async function approve(context: WriteContext, partner: Partner): Promise<void> {
  await breakGlass(context, 'partner.approve', `branch:${partner.branchId}`)
  await setPartnerStatus(context.db, partner, 'approved', undefined, context.act())
}

async function grantRefresh(context: WriteContext, partner: Partner): Promise<void> {
  await breakGlass(context, 'partner.refresh-access', `branch:${partner.branchId}`)
  await setRefreshAccess(context.db, partner, true, context.act())
}

const messagesListed = 200

function printMessage({ writtenAt, side, kind, authorName, text }: PartnerMessage) {
  return { written_at: writtenAt, side, kind, author: authorName, text }
}

function fieldsOf({ branchId, name, status, statusReason, refreshAccess, createdAt }: Partner) {
  return {
    ...{ branch_id: branchId, name, status, status_reason: statusReason },
    ...{ refresh_access: refreshAccess, created_at: createdAt },
  }
}

function onPartner(
  verb: string,
  summary: string,
  options: readonly Option[],
  change: (context: WriteContext, partner: Partner, words: CommandWords) => Promise<void>,
): Command {
  return {
    name: `partner ${verb}`,
    needs: 'database',
    summary,
    positionals: ['partner'],
    options,
    async run(context, words) {
      const key = words.positional('partner')
      await change(context, await getPartner(context.db, key), words)
      context.print.record(fieldsOf(await getPartner(context.db, key)))
    },
  }
}
