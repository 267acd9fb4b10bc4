/**
 * What a node does beside answering: once a second it writes down last uses, once a minute it removes what is
 * dead, in small batches; what is seldom there to be done is asked for in rounds. Every task can be run alone
 * and answers what it did; several nodes may run the same task at the same time. Of the processes of one node
 * a single one keeps house; the others write down what they remember.
 */
import { removeOldAdminAnswers } from '../administration/answered.ts'
import { type AnchorWriter, openAnchorWriter } from '../audit/anchor.ts'
import { isUnsealed } from '../audit/blocks.sql.ts'
import { sealAll } from '../audit/chain.ts'
import { removeUnusedImages } from '../brands/image.ts'
import { minute, second } from '../clock.ts'
import { type Repetition, repeat } from '../concurrency/repeat.ts'
import type { SharedContext } from '../context.ts'
import type { Rounds } from '../database/rounds.ts'
import { removeOldSignIns } from '../identity/journey.ts'
import { removeSpentLogoutTokens } from '../identity/logout.ts'
import { deleteExpiredAccessTokens } from '../oauth/access-tokens.sql.ts'
import { removeOldActivity } from '../oauth/activity.ts'
import { removeOldAnswers } from '../oauth/authorization.ts'
import { deleteExpiredClientTokens } from '../oauth/client-tokens.sql.ts'
import { deleteSpentGrants } from '../oauth/codes.sql.ts'
import { removeOldProofs } from '../oauth/used-proofs.ts'
import { emptyNextCalls } from '../partners/calls.ts'
import { removeOldInvitations } from '../partners/invitation.ts'
import { areRemoving } from '../provisioning/imports.sql.ts'
import { removeOldWaiting } from '../provisioning/provisioning.ts'
import { removeAllMissing, removeOldImports } from '../provisioning/snapshot.ts'
import { removeOldFormerEmails } from '../users/email.ts'
import { removeOldBuckets } from '../users/login-throttle.ts'
import { removeOldChallenges } from '../users/passkey.ts'
import { removeOldResets } from '../users/password-reset.ts'
import { removeDeadSessions } from '../users/session.ts'
import { removeOldKeptForms } from '../web/frame/kept-form.ts'
import { removeOldSubmissions } from '../web/frame/make-once.ts'
import { retireOnce } from '../webhooks/deliveries/retention.ts'
import { openDaysAhead } from '../webhooks/events/days.ts'
import { openSweeper } from '../webhooks/health/sweeper.ts'
import { countWaiting, thinCounts } from '../webhooks/health/webhook-counts.ts'
import { removeOldReceipts } from '../webhooks/subscriptions/built-in-receiver.ts'
import { followStrays } from '../webhooks/subscriptions/cursor.ts'

const batchSize = 1_000

interface RemovalCounts {
  readonly accessTokens: number
  readonly grants: number
  readonly clientTokens: number
  readonly usedProofs: number
  readonly answers: number
  readonly sessions: number
  readonly loginBuckets: number
  readonly activity: number
  readonly challenges: number
  readonly submissions: number
  readonly keptForms: number
  readonly formerEmails: number
  readonly receipts: number
  readonly invitations: number
  readonly imports: number
  readonly waitingHoldings: number
  readonly images: number
  readonly providerSignIns: number
  readonly passwordResets: number
  readonly logoutTokens: number
  readonly adminAnswers: number
}

export async function removeDead({ db, clock }: Pick<SharedContext, 'db' | 'clock'>): Promise<RemovalCounts> {
  const now = clock.now()
  return {
    accessTokens: await inBatches(() => db.query(deleteExpiredAccessTokens, { now, most: batchSize })),
    grants: await inBatches(() => db.query(deleteSpentGrants, { now, most: batchSize })),
    clientTokens: await inBatches(() => db.query(deleteExpiredClientTokens, { now, most: batchSize })),
    usedProofs: await inBatches(() => removeOldProofs(db, now, batchSize)),
    answers: await inBatches(() => removeOldAnswers(db, now, batchSize)),
    sessions: await removeDeadSessions(db, now),
    loginBuckets: await removeOldBuckets(db, now),
    activity: await inBatches(() => removeOldActivity(db, now, batchSize)),
    challenges: await inBatches(() => removeOldChallenges(db, now, batchSize)),
    submissions: await inBatches(() => removeOldSubmissions(db, now, batchSize)),
    keptForms: await inBatches(() => removeOldKeptForms(db, now, batchSize)),
    formerEmails: await inBatches(() => removeOldFormerEmails(db, now, batchSize)),
    receipts: await inBatches(() => removeOldReceipts(db, now, batchSize)),
    invitations: await inBatches(() => removeOldInvitations(db, now, batchSize)),
    imports: await inBatches(() => removeOldImports(db, now, batchSize)),
    waitingHoldings: await inBatches(() => removeOldWaiting(db, now, batchSize)),
    images: await inBatches(() => removeUnusedImages(db, now, batchSize)),
    passwordResets: await inBatches(() => removeOldResets(db, now, batchSize)),
    providerSignIns: await inBatches(() => removeOldSignIns(db, now, batchSize)),
    logoutTokens: await inBatches(() => removeSpentLogoutTokens(db, now, batchSize)),
    adminAnswers: await inBatches(() => removeOldAdminAnswers(db, now, batchSize)),
  }
}

/** Days are opened before they begin, and leave when they are old. */
async function turnDays({ db, clock, config }: SharedContext): Promise<void> {
  await openDaysAhead(db, clock.now())
  await retireOnce(db, config.webhooks, clock.now())
}

async function keepCounts({ db, clock }: SharedContext): Promise<void> {
  await countWaiting(db, clock.now())
  await thinCounts(db, clock.now())
}

async function inBatches(remove: () => Promise<object[]>): Promise<number> {
  let removed = 0
  for (;;) {
    const { length } = await remove()
    removed += length
    if (length < batchSize) return removed
  }
}

interface Housekeeping {
  close(): Promise<void>
}

export function openHousekeeping(context: SharedContext, rounds: Rounds, keepsHouse: boolean): Housekeeping {
  const anchors = openAnchorWriter({ ...context, file: context.config.auditAnchorFile })
  const tasks = [
    repeat(context.log, 'last use', second, () => context.lastUse.flush()),
    repeat(context.log, 'activity', minute, () => context.activity.flush()),
    repeat(context.log, 'calls', second, () => context.callLog.flush()),
    repeat(context.log, 'attempt counts', 5 * second, () => context.attemptCounter.flush()),
    ...(keepsHouse ? keepHouse(context, rounds, anchors) : []),
  ]
  return {
    async close() {
      await Promise.all(tasks.map((task) => task.stop()))
      const { lastUse, activity, callLog, attemptCounter } = context
      for (const [name, write] of [
        ['last use', () => lastUse.flush()],
        ['activity', () => activity.flush()],
        ['calls', () => callLog.flush()],
        ['attempt counts', () => attemptCounter.flush()],
        ['anchors', async () => keepsHouse && anchors.write()],
      ] as const)
        await write().catch((error: unknown) =>
          context.log.warn({ err: error, task: name }, 'what was left at the end is not written down'),
        )
    },
  }
}

/** The work that is the same whichever process does it. */
function keepHouse(context: SharedContext, rounds: Rounds, anchors: AnchorWriter): Repetition[] {
  const sweeper = openSweeper(context)
  return [
    repeat(context.log, 'audit anchor', minute, () => anchors.write()),
    repeat(context.log, 'removal', minute, () => removeDead(context)),
    repeat(context.log, 'old calls', minute, () => emptyNextCalls(context.db, context.clock.now())),
    repeat(context.log, 'days', minute, () => turnDays(context)),
    repeat(context.log, 'counts', minute, () => keepCounts(context)),
    repeat(context.log, 'promises', minute, () => sweeper.sweep()),
    repeat(context.log, 'cursors', minute, () => followStrays(context.db)),
    rounds.add({
      name: 'audit chain',
      question: isUnsealed,
      work: () => sealAll(context.db, context.clock.now()),
    }),
    rounds.add({
      name: 'imports',
      question: areRemoving,
      work: () => removeAllMissing(context.db, context.clock),
    }),
  ]
}
