/** What a node with the role `worker` does beside answering: deliveries, notices, alerts, the audit log, keys. */
import { areAlertsDue } from '../alerts/alerts.sql.ts'
import { sendDueAlerts } from '../alerts/dispatch.ts'
import { findDue, removeOldAlerts } from '../alerts/due.ts'
import { openOwnTroubles } from '../alerts/own-troubles.ts'
import { isPushDue } from '../audit-push/listeners.sql.ts'
import { openCollector } from '../audit-push/open-collector.ts'
import { pushAudit } from '../audit-push/push.ts'
import type { ImageStore } from '../brands/image.ts'
import { minute } from '../clock.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { SharedContext } from '../context.ts'
import type { Rounds } from '../database/rounds.ts'
import { wideLines } from '../http/log.ts'
import type { NoticeWords } from '../notices/message.ts'
import { noticeWords } from '../notices/notice-words.ts'
import { openCourier } from '../notices/open-courier.ts'
import { type NoticeToSend, openPost } from '../notices/post.ts'
import { openKeyReader } from '../partners/key-reader.ts'
import { areSetsDue } from '../partners/key-sets.sql.ts'
import type { SiteAddresses } from '../vocabulary/environment.ts'
import { type AttemptRecord, logAttempt } from '../webhooks/engine/attempt-record.ts'
import { DeliveryWorker, usualLingerMs } from '../webhooks/engine/worker.ts'
import type { Announcer } from '../webhooks/events/announcer.ts'
import { branchKey } from '../webhooks/events/branch-signal.ts'
import { branchOfFeed } from '../webhooks/events/part.ts'
import { openSender } from '../webhooks/outbound/attempt.ts'
import { openBuiltIn } from '../webhooks/subscriptions/built-in-receiver.ts'
import { openHeaderKeeper } from '../webhooks/subscriptions/webhook-headers.ts'

/** The worker of this node, with the sockets it sends through. */
export function openDelivery(
  shared: SharedContext,
  announcer: Announcer,
  rounds: Rounds,
  lingerMs = usualLingerMs,
): () => Promise<void> {
  const { config, db, clock, changes, log, eventSignal, branchSignal, signingSecrets: secrets } = shared
  const { dnsServers, certificateAuthority } = config.webhooks
  const builtIn = openBuiltIn({ ...shared, secrets })
  const sender = openSender({ policy: config.webhooks, dnsServers, certificateAuthority, builtIn })
  const worker = new DeliveryWorker({
    db,
    clock,
    rounds,
    lingerMs,
    changes,
    log,
    sender,
    secrets,
    headers: openHeaderKeeper(shared.db, shared.vault, changes),
    attempted: listenersOf(shared),
    grown(feeds) {
      eventSignal.fire()
      branchSignal.fire(feeds?.map((feed) => branchKey(branchOfFeed(feed))))
    },
    isFollowed: () => eventSignal.isAwaited() || branchSignal.isAwaited(),
  })
  announcer.serve(worker)
  return async () => {
    await worker.close()
    await sender.close()
  }
}

/** Opened last, when the addresses that messages name are known; closed first. */
export function openNotices(
  shared: SharedContext,
  addresses: SiteAddresses,
  rounds: Rounds,
): () => Promise<void> {
  const { config, db, clock, log, closing, vault, brands, images } = shared
  const courier = openCourier(config.mail)
  const findWords = async (notice: NoticeToSend) => {
    const [live, sandbox] = await Promise.all([brands.find('live'), brands.find('sandbox')])
    return withLogo(noticeWords(notice, addresses, vault, { live, sandbox }), images)
  }
  const deps = { db, clock, log, closing, courier, findWords }
  return openPost(deps, rounds).close
}

/** By a sender of its own: nothing that is handed over inside takes alerts. */
export function openAlerts(
  shared: SharedContext,
  addresses: SiteAddresses,
  rounds: Rounds,
): () => Promise<void> {
  const { config, db, clock, log, vault, brands, closing } = shared
  const { dnsServers, certificateAuthority } = config.webhooks
  const sender = openSender({ policy: config.webhooks, dnsServers, certificateAuthority })
  const nameOfBrokerage = async () => (await brands.find('live')).name
  const deps = { db, clock, log, vault, sender, addresses, nameOfBrokerage, closing }
  const troubles = openOwnTroubles({ db, clock, vault, config })
  const tasks = [
    rounds.add({ name: 'alerts', question: areAlertsDue, work: () => sendDueAlerts(deps) }),
    repeat(log, 'what is due to be told', minute, () => findDue(db, clock.now())),
    repeat(log, 'troubles of the brokerage', minute, () => troubles.find()),
    repeat(log, 'old alerts', minute, () => removeOldAlerts(db, clock.now())),
  ]
  return async () => {
    await sender.close()
    await Promise.all(tasks.map((task) => task.stop()))
  }
}

/** Keys of clients, at their partners' addresses: judged as those of webhooks are. */
export function openClientKeys(shared: SharedContext, _: SiteAddresses, rounds: Rounds): () => Promise<void> {
  const { db, clock, log, closing, config } = shared
  const { dnsServers, certificateAuthority: authority } = config.webhooks
  const reader = openKeyReader({
    ...{ db, clock, log, closing },
    network: { policy: config.webhooks, dnsServers, authority },
  })
  const task = rounds.add({ name: 'keys of clients', question: areSetsDue, work: () => reader.begin() })
  return async () => {
    await task.stop()
    await reader.close()
  }
}

/** To the collector that the settings name, if they do. */
export function openAuditPush(
  shared: SharedContext,
  { live }: SiteAddresses,
  rounds: Rounds,
): () => Promise<void> {
  const { config, db, clock, log, vault, closing } = shared
  const { auditPush } = config
  if (!auditPush) return async () => {}
  const collector = openCollector(auditPush, new URL(live).hostname)
  const deps = { db, clock, log, vault, closing, config: auditPush, collector }
  const task = rounds.add({
    name: 'audit push',
    question: isPushDue(auditPush.address.toString('hex')),
    work: () => pushAudit(deps),
  })
  return async () => {
    await task.stop()
    await collector.close()
  }
}

/** Programs that read mail show a PNG; of other logos they show nothing, and the name stands there. */
async function withLogo(words: NoticeWords, images: ImageStore): Promise<NoticeWords> {
  const picture = words.letter?.brand.logo.light
  if (!picture || 'file' in picture || picture.type !== 'image/png') return words
  return { ...words, logo: await images.find(picture.hash) }
}

/** Log, metrics, tracing and counts: each hears of every attempt. */
function listenersOf({
  log,
  metrics,
  tracing,
  attemptCounter,
}: SharedContext): ((attempt: AttemptRecord) => void)[] {
  const lines = wideLines(log)
  return [
    attemptCounter.note,
    ...(lines.isLevelEnabled('info') ? [(attempt: AttemptRecord) => logAttempt(lines, attempt)] : []),
    ...(metrics ? [metrics.attempt] : []),
    ...(tracing ? [tracing.attempt] : []),
  ]
}
