import { after } from '../clock.ts'
import { listClients } from '../partners/client.ts'
import { listSecrets } from '../partners/client-secret.ts'
import { Invalid } from '../problem.ts'
import { nameAnswer } from '../web/parts/failure-words.ts'
import { labelOf } from '../web/parts/health-words.ts'
import { countRecovery, startRecovery } from '../webhooks/deliveries/recovery.ts'
import {
  countReplay,
  getReplay,
  type Replay,
  type Selection,
  startReplay,
} from '../webhooks/deliveries/replay.ts'
import { type Skip, startSkip } from '../webhooks/deliveries/skip.ts'
import { isFailing, isUnsettled } from '../webhooks/health/condition.ts'
import { readFailures, type WebhookFailure } from '../webhooks/health/failure.ts'
import { getLane, type LaneHealth, listLanes } from '../webhooks/health/lane-health.ts'
import { findCause } from '../webhooks/health/likely-cause.ts'
import {
  createWebhook,
  deleteWebhook,
  findSecretAge,
  findSwitches,
  latestSwitchMs,
  overlapMs,
  rotateWebhookSecret,
  setWebhookState,
  updateWebhook,
  type Webhook,
  webhooksPerBranch,
} from '../webhooks/subscriptions/webhook.ts'
import { readHeaderNames } from '../webhooks/subscriptions/webhook-headers.ts'
import {
  type Command,
  type CommandWords,
  type ReadContext,
  UsageError,
  type WriteContext,
} from './command.ts'
import { parseDuration } from './environment.ts'
import { atWebhook, branchOf, branchOptions, onWebhook, parseReason, reasonOption } from './on-webhook.ts'
import { getSecret, secretOption, takeSecret } from './secret-file.ts'
import { namingOptions, readSettings, removalOption, settingOptions } from './webhook-settings.ts'

const changeable = ['url', ...[...settingOptions, removalOption].map(({ name }) => name)]

const registration = ({ db, vault, config }: WriteContext) => ({ db, vault, policy: config.webhooks })

export const webhookCommands: readonly Command[] = [
  {
    name: 'webhook create',
    needs: 'database',
    summary: 'Registers a URL of a partner.',
    options: [
      ...branchOptions,
      { name: 'url', value: 'URL', required: true, meaning: 'where deliveries go' },
      secretOption('secret', 'a file with what signs in place of the client secret'),
      ...settingOptions,
    ],
    async run(context, words) {
      const branch = await branchOf(context, words)
      const [client] = (await listClients(context.db, branch.branchId)).filter(
        (each) => each.environment === branch.environment,
      )
      const settings = readSettings(words)
      const draft = {
        kinds: undefined,
        ...settings,
        url: words.get('url'),
        secret: takeSecret(words, 'secret'),
      }
      const made = await namingOptions(
        createWebhook(registration(context), branch, client?.id, draft, context.act()),
      )
      context.print.record(await shown(context, made))
    },
  },
  onWebhook(
    'webhook update',
    'Changes the URL or the settings of a webhook; what is not given stays. A new secret: webhook rotate-secret.',
    [{ name: 'url', value: 'URL', meaning: 'where deliveries go' }, ...settingOptions, removalOption],
    async (context, webhook, words) => {
      const url = words.find('url')
      const change = { ...readSettings(words), ...(url !== undefined && { url }) }
      if (Object.keys(change).length === 0)
        throw new UsageError(`Say what to change: ${changeable.map((name) => `--${name}`).join(', ')}.`)
      return shown(
        context,
        await namingOptions(updateWebhook(registration(context), webhook, change, context.act())),
      )
    },
  ),
  {
    name: 'webhook list',
    needs: 'reading',
    summary: 'Lists the webhooks of a partner: how each is and, of those that fail, since when and why.',
    options: branchOptions,
    async run(context, words) {
      const { branchId, environment } = await branchOf(context, words)
      const filter = { partner: branchId, environment }
      const found = await listLanes(context.db, filter, context.clock.now(), {
        most: webhooksPerBranch,
        skip: 0,
      })
      const lanes = found.toSorted((one, other) => one.id - other.id)
      const failures = await readFailures(context.db, lanes)
      const switches = await findSwitches(context.db, lanes, context.clock.now())
      context.print.table(
        lanes.map((lane) => ({
          ...{ id: lane.id, url: lane.url, kinds: lane.kinds, state: lane.state },
          ...healthFields(lane, failures.get(lane.id)),
          disabled_reason: lane.disabledReason,
          created_at: lane.createdAt,
          new_secret_signs_from: switches.get(lane.id) ?? null,
          description: lane.description,
        })),
        'The partner has no webhooks.',
      )
    },
  },
  atWebhook(
    'webhook show',
    'Shows a webhook: its settings, the age of its secret, how it is and, if it fails, since when and why.',
    [],
    async (context, webhook) => {
      const lane = await getLane(context.db, webhook.id, context.clock.now())
      const failure = (await readFailures(context.db, [lane])).get(lane.id)
      const switches = await findSwitches(context.db, [lane], context.clock.now())
      return {
        ...(await shown(context, lane)),
        ...(await secretFields(context, lane)),
        new_secret_signs_from: switches.get(lane.id) ?? null,
        ...healthFields(lane, failure),
      }
    },
  ),
  onWebhook(
    'webhook delete',
    'Deletes a webhook; what waits for it is canceled.',
    [],
    ({ db, act }, webhook) => deleteWebhook(db, webhook, act()).then(() => ({ deleted_webhook: webhook.id })),
  ),
  onWebhook('webhook pause', 'Holds back the deliveries of a webhook.', [], async (context, webhook) =>
    shown(context, await setWebhookState(context.db, webhook, 'paused', context.act())),
  ),
  onWebhook('webhook resume', 'Resumes a paused or disabled webhook.', [], async (context, webhook) =>
    shown(context, await setWebhookState(context.db, webhook, 'active', context.act())),
  ),
  onWebhook(
    'webhook rotate-secret',
    'Replaces the secret of a webhook, at once or after a while. Both verify until a day after the new one has begun to sign.',
    [
      secretOption('secret', 'a file with the new secret', { required: true }),
      {
        name: 'switch-after',
        value: 'DURATION',
        meaning: 'how long the old one still signs, at most 7d: 0s unless given',
      },
    ],
    async (context, webhook, words) => {
      const act = context.act()
      const switchAt = after(act.at, parseDuration(words.find('switch-after') ?? '0s', 'switch-after'))
      if (switchAt > after(act.at, latestSwitchMs))
        throw new Invalid([{ field: 'switch-after', problem: 'must be at most 7d' }])
      await rotateWebhookSecret(registration(context), webhook, getSecret(words, 'secret'), switchAt, act)
      return {
        rotated_webhook: webhook.id,
        signs_from: switchAt,
        old_secret_ends_at: after(switchAt, overlapMs),
      }
    },
  ),
  onWebhook(
    'webhook replay',
    'Sends deliveries again: by time, by entity or all that failed. Shows the progress until it is done.',
    [
      { name: 'from', value: 'TIME', meaning: 'events from this moment on (ISO 8601)' },
      { name: 'to', value: 'TIME', meaning: 'events before this moment' },
      { name: 'entity', value: 'ENTITY', meaning: 'such as transaction:42' },
      { name: 'failed', meaning: 'only deliveries that failed after all retries' },
      { name: 'dry-run', meaning: 'only count them' },
    ],
    async (context, webhook, words) => {
      const selection = parseSelection(words)
      if (words.has('dry-run')) return { total: (await countReplay(context.db, webhook, selection)).total }
      const replay = await startReplay(context.db, webhook, selection, context.act())
      return followReplay(context, webhook, replay.id)
    },
  ),
  onWebhook(
    'webhook recover',
    'After the receiver was fixed: tries at once what waits, and sends again what failed after all retries since a moment. Shows the progress until it is done.',
    [
      {
        name: 'since',
        value: 'TIME',
        required: true,
        meaning: 'when the trouble began: a time such as 2026-03-02T10:00:00Z, or 6h for six hours ago',
      },
      { name: 'dry-run', meaning: 'only count' },
    ],
    async (context, webhook, words) => {
      const act = context.act()
      const since = parseSince(words.get('since'), act.at)
      if (words.has('dry-run')) return { ...(await countRecovery(context.db, webhook, since, act.at)) }
      const { id } = await startRecovery(context.db, webhook, since, act)
      return followReplay(context, webhook, id)
    },
  ),
  onWebhook(
    'webhook skip-waiting',
    'Skips all deliveries that wait at a webhook.',
    [reasonOption],
    async (context, webhook, words) =>
      skipFields(await startSkip(context.db, webhook, parseReason(words), context.act())),
  ),
]

/** Of its own headers the names: values are never shown. */
async function shown({ db }: ReadContext, webhook: Webhook) {
  const { id, environment, url, kinds, state, actions, rateLimit, description } = webhook
  const headers = await readHeaderNames(db, webhook)
  return {
    ...{ id, branch_id: webhook.branchId, environment, client_id: webhook.clientId, url, kinds, state },
    ...{
      disabled_reason: webhook.disabledReason,
      created_at: webhook.createdAt,
      updated_at: webhook.updatedAt,
    },
    ...{ actions, rate_limit: rateLimit, headers, description },
  }
}

/** In the words of the pages: "failing: one retry a minute", and why. */
function healthFields(lane: LaneHealth, failure: WebhookFailure | undefined) {
  const { condition, failingSince } = lane
  const last = isFailing(condition) || isUnsettled(condition) ? failure?.last : undefined
  return {
    health: labelOf(lane),
    failing_since: failingSince,
    why: last ? `${nameAnswer(last)}: ${findCause(last).title}` : null,
  }
}

/** Whose secret signs now, and since when there is it. */
async function secretFields({ db, clock }: ReadContext, webhook: Webhook) {
  const now = clock.now()
  const own = await findSecretAge(db, webhook, now)
  if (own || webhook.clientId === null)
    return { signs_with: own ? 'own secret' : null, secret_created_at: own ?? null }
  const living = await listSecrets(db, webhook.clientId, now)
  const newestFirst = living.toSorted((one, other) => other.signsFrom.getTime() - one.signsFrom.getTime())
  const signing = newestFirst.find(({ signsFrom }) => signsFrom <= now) ?? newestFirst[0]
  return { signs_with: signing ? 'client secret' : null, secret_created_at: signing?.createdAt ?? null }
}

function replayFields({
  id,
  webhookId,
  selection,
  state,
  total,
  done,
  pulled,
  createdAt,
  finishedAt,
}: Replay) {
  const counted = { total, done, pulled }
  return {
    id,
    webhook_id: webhookId,
    selection,
    state,
    ...counted,
    created_at: createdAt,
    finished_at: finishedAt,
  }
}

function skipFields({ id, webhookId, reason, askedBy, skipped, createdAt }: Skip) {
  return { id, webhook_id: webhookId, reason, asked_by: askedBy, skipped, created_at: createdAt }
}

function parseSelection(words: CommandWords): Selection {
  const instant = (name: string) => {
    const text = words.find(name)
    if (text === undefined) return undefined
    const ms = Date.parse(text)
    if (Number.isNaN(ms))
      throw new Invalid([{ field: name, problem: 'must be a time such as 2026-03-02T10:00:00Z' }])
    return ms
  }
  const selection = {
    from: instant('from'),
    to: instant('to'),
    entity: words.find('entity'),
    failed: words.has('failed') || undefined,
  }
  if (Object.values(selection).every((value) => value === undefined)) {
    throw new Invalid([
      { field: 'selection', problem: 'must choose by --from and --to, --entity or --failed' },
    ])
  }
  return selection
}

function parseSince(text: string, now: Date): Date {
  if (/^\d{1,6}[smhd]$/.test(text)) return after(now, -parseDuration(text, 'since'))
  const ms = Date.parse(text)
  if (Number.isNaN(ms) || ms > now.getTime())
    throw new Invalid([
      { field: 'since', problem: 'must be a time that has passed, such as 2026-03-02T10:00:00Z, or 6h' },
    ])
  return new Date(ms)
}

/** The job runs in a gateway; here one only watches it. */
async function followReplay({ db, print }: WriteContext, webhook: Webhook, id: number) {
  for (;;) {
    const replay = await getReplay(db, webhook, id)
    const pulled = replay.selection.since === undefined ? '' : `, ${replay.pulled} tried now`
    print.progress(`${replay.done} of ${replay.total ?? 'many'} sent${pulled}`)
    if (replay.state !== 'running') return replayFields(replay)
    await new Promise((done) => setTimeout(done, 250))
  }
}
