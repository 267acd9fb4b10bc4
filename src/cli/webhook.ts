import { readFileSync } from 'node:fs'
import { Value } from 'typebox/value'
import { exactAmounts } from '../api/exact-amounts.ts'
import { listClients } from '../partners/client.ts'
import { getPartner } from '../partners/partner.ts'
import { type FieldProblem, findOverflow, Invalid } from '../problem.ts'
import { getDelivery, listAttempts, redeliverByWorker } from '../webhooks/delivery.ts'
import { listDeliveries } from '../webhooks/delivery-search.ts'
import { type NewEvent, printEventId } from '../webhooks/event.ts'
import { entityOf, isPublishedKind, type Kind, kinds, type Payload, payloads, printPayload } from '../webhooks/kind.ts'
import { openPublisher } from '../webhooks/publisher.ts'
import { countReplay, getReplay, type Selection, startReplay } from '../webhooks/replay.ts'
import {
  type Branch,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  setWebhookState,
} from '../webhooks/webhook.ts'
import type { Command, Desk, Option, Words } from './command.ts'
import { parseEnvironment } from './environment.ts'
import { findSecret, secretOption } from './secret-file.ts'

const branchOptions: readonly Option[] = [
  { name: 'partner', value: 'NAME|ID', required: true, meaning: 'name or branch id of the partner' },
  { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
]

async function branchOf({ db }: Desk, words: Words): Promise<Branch> {
  const { branch_id } = await getPartner(db, words.get('partner'))
  return { branchId: branch_id, environment: parseEnvironment(words.find('environment')) }
}

const registration = ({ db, vault, config }: Desk) => ({ db, vault, policy: config.webhooks })

function parseKinds(text: string | undefined): Kind[] | undefined {
  if (text === undefined) return undefined
  const words = text.split(/[ ,]+/).filter((word) => word !== '')
  const unknown = words.find((word) => !(kinds as readonly string[]).includes(word))
  if (unknown !== undefined || words.length === 0)
    throw new Invalid([{ field: 'kinds', problem: `must be some of ${kinds.join(', ')}` }])
  return words as Kind[]
}

export const webhookCommands: readonly Command[] = [
  {
    name: 'webhook create',
    summary: 'Registers a URL of a partner.',
    options: [
      ...branchOptions,
      { name: 'url', value: 'URL', required: true, meaning: 'where deliveries go' },
      secretOption('secret', 'a file with what signs in place of the client secret'),
      { name: 'kinds', value: 'KINDS', meaning: 'all but AUTHORIZATION unless given' },
    ],
    async run(desk, words) {
      const branch = await branchOf(desk, words)
      const [client] = (await listClients(desk.db, branch.branchId)).filter(
        (each) => each.environment === branch.environment,
      )
      const draft = {
        url: words.get('url'),
        secret: findSecret(words, 'secret'),
        kinds: parseKinds(words.find('kinds')),
      }
      const webhook = await createWebhook(registration(desk), branch, client?.id, draft, desk.by, desk.clock.now())
      desk.print.record({ ...webhook })
    },
  },
  {
    name: 'webhook list',
    summary: 'Lists the webhooks of a partner.',
    options: branchOptions,
    async run(desk, words) {
      const rows = await listWebhooks(desk.db, await branchOf(desk, words), 0, 1_000)
      desk.print.table(
        rows.map(({ id, url, kinds: subscribed, state, disabled_reason, created_at }) => ({
          id,
          url,
          kinds: subscribed,
          state,
          disabled_reason,
          created_at,
        })),
        'The partner has no webhooks.',
      )
    },
  },
  onWebhook('webhook delete', 'Deletes a webhook; what waits for it is canceled.', [], ({ db, by, clock }, webhook) =>
    deleteWebhook(db, webhook, by, clock.now()).then(() => ({ deleted_webhook: webhook.id })),
  ),
  onWebhook('webhook pause', 'Holds back the deliveries of a webhook.', [], ({ db, by, clock }, webhook) =>
    setWebhookState(db, webhook, 'paused', by, clock.now()).then((changed) => ({ ...changed })),
  ),
  onWebhook('webhook resume', 'Lets a paused or disabled webhook go on.', [], ({ db, by, clock }, webhook) =>
    setWebhookState(db, webhook, 'active', by, clock.now()).then((changed) => ({ ...changed })),
  ),
  onWebhook(
    'webhook rotate-secret',
    'Replaces the secret of a webhook at once.',
    [secretOption('secret', 'a file with the new secret', { required: true })],
    async (desk, webhook, words) => {
      await rotateWebhookSecret(
        registration(desk),
        webhook,
        findSecret(words, 'secret')!,
        desk.clock.now(),
        desk.by,
        desk.clock.now(),
      )
      return { rotated_webhook: webhook.id }
    },
  ),
  onWebhook(
    'webhook replay',
    'Sends deliveries again: by time, by entity or all that failed. Shows the progress until it is done.',
    [
      { name: 'from', value: 'TIME', meaning: 'events from this moment on (ISO 8601)' },
      { name: 'to', value: 'TIME', meaning: 'events before this moment' },
      { name: 'entity', value: 'ENTITY', meaning: 'such as transaction:42' },
      { name: 'failed', meaning: 'only exhausted deliveries' },
      { name: 'dry-run', meaning: 'only count them' },
    ],
    async (desk, webhook, words) => {
      const selection = parseSelection(words)
      if (words.has('dry-run')) return { total: (await countReplay(desk.db, webhook, selection)).total }
      const replay = await startReplay(desk.db, webhook, selection, desk.by, desk.clock.now())
      return { ...(await followReplay(desk, webhook, replay.id)) }
    },
  ),
  onWebhook(
    'delivery list',
    'Lists the newest deliveries of a webhook.',
    [
      { name: 'state', value: 'STATE', meaning: 'blocked, waiting, delivered, exhausted or canceled' },
      { name: 'entity', value: 'ENTITY', meaning: 'such as transaction:42' },
      { name: 'limit', value: 'N', meaning: '50 unless given' },
    ],
    async ({ db }, webhook, words) => {
      const filter = { state: words.find('state') as 'waiting' | undefined, entity: words.find('entity') }
      const rows = await listDeliveries(
        db,
        webhook,
        filter,
        Number.MAX_SAFE_INTEGER,
        Number(words.find('limit') ?? 50) || 50,
      )
      return rows.map(({ id, kind, action, entity, state, attempts, created_at, due_at }) => ({
        id,
        kind,
        action,
        entity,
        state,
        attempts,
        created_at,
        due_at,
      }))
    },
  ),
  {
    name: 'delivery show',
    summary: 'Shows one delivery with every attempt.',
    positionals: ['delivery'],
    options: branchOptions,
    async run(desk, words) {
      const delivery = await getDelivery(desk.db, await branchOf(desk, words), Number(words.positionals[0]) || 0)
      desk.print.record({ ...delivery, log: await listAttempts(desk.db, delivery.id) })
    },
  },
  {
    name: 'delivery redeliver',
    summary: 'Sends one delivery again.',
    positionals: ['delivery'],
    options: branchOptions,
    async run(desk, words) {
      const branch = await branchOf(desk, words)
      const delivery = await getDelivery(desk.db, branch, Number(words.positionals[0]) || 0)
      const again = await redeliverByWorker(desk.db, branch.branchId, delivery, desk.by, desk.clock.now())
      desk.print.record({ redelivering: delivery.id, delivery: again })
    },
  },
  {
    name: 'event publish',
    summary:
      'Publishes events from a JSON file (an event, or a list of them); "-" reads standard input. All of them or none.',
    positionals: ['file'],
    options: [
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      { name: 'idempotency-key', value: 'KEY', meaning: 'the same key again publishes nothing' },
    ],
    async run({ db, clock, by, print }, words) {
      const file = words.positionals[0]!
      const text = readFileSync(file === '-' ? 0 : file, 'utf8')
      const events = parseEvents(text, parseEnvironment(words.find('environment')))
      const key = words.find('idempotency-key')
      const idempotency = key === undefined ? undefined : { owner: by.name, key }
      const stored = await openPublisher(db).publish(events, clock.now(), { idempotency })
      const uids = stored.map((event) => event.uid)
      print.table(
        uids.map((uid) => ({ event_id: printEventId(uid) })),
        'Nothing to publish.',
      )
    },
  },
]

type Row = Record<string, unknown>

function onWebhook(
  name: string,
  summary: string,
  options: readonly Option[],
  act: (desk: Desk, webhook: Awaited<ReturnType<typeof getWebhook>>, words: Words) => Promise<Row | Row[]>,
): Command {
  return {
    name,
    summary,
    positionals: ['webhook'],
    options: [...branchOptions, ...options],
    async run(desk, words) {
      const webhook = await getWebhook(desk.db, await branchOf(desk, words), Number(words.positionals[0]) || 0)
      const result = await act(desk, webhook, words)
      if (Array.isArray(result)) desk.print.table(result, 'Nothing found.')
      else desk.print.record(result)
    },
  }
}

function parseSelection(words: Words): Selection {
  const instant = (name: string) => {
    const text = words.find(name)
    if (text === undefined) return undefined
    const ms = Date.parse(text)
    if (Number.isNaN(ms)) throw new Invalid([{ field: name, problem: 'must be a time such as 2026-03-02T10:00:00Z' }])
    return ms
  }
  const selection = {
    from: instant('from'),
    to: instant('to'),
    entity: words.find('entity'),
    failed: words.has('failed') || undefined,
  }
  if (Object.values(selection).every((value) => value === undefined)) {
    throw new Invalid([{ field: 'selection', problem: 'must choose by --from and --to, --entity or --failed' }])
  }
  return selection
}

/** The job runs in a gateway; here one only watches it. */
async function followReplay({ db, print }: Desk, webhook: Awaited<ReturnType<typeof getWebhook>>, id: number) {
  for (;;) {
    const replay = await getReplay(db, webhook, id)
    print.progress(`${replay.done} of ${replay.total} set going`)
    if (replay.state !== 'running') return replay
    await new Promise((done) => setTimeout(done, 250))
  }
}

function parseEvents(text: string, environment: NewEvent['environment']): NewEvent[] {
  const parsed = JSON.parse(text) as Payload | Payload[]
  const events = [parsed].flat()
  const problems = events.flatMap((payload, index) => findPayloadProblems(payload, `events.${index}`))
  if (problems.length > 0) throw new Invalid(problems)
  const amounts = exactAmounts(text, events, (place) => `events.${place}.amount`)
  return events.map((payload, index) => {
    const kind = payload.type as Parameters<typeof entityOf>[0]
    return {
      ...{ environment, kind, simulated: false, branchId: payload.branchId as number, action: String(payload.action) },
      entity: entityOf(kind, payload),
      body: printPayload(kind, payload, amounts[index]),
    }
  })
}

function findPayloadProblems(payload: Payload, where: string): FieldProblem[] {
  const kind = payload?.type
  if (!isPublishedKind(kind))
    return [{ field: `${where}.type`, problem: `must be one of ${Object.keys(payloads).join(', ')}` }]
  return [...Value.Errors(payloads[kind], payload)].map((fault) => ({
    field: where + fault.instancePath.replaceAll('/', '.'),
    problem: findOverflow(payload[fault.instancePath.slice(1)]) ?? fault.message,
  }))
}
