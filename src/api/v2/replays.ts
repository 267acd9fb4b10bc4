/** Replaying by time range, by entity, or all that failed: a durable job with a dry run and progress. */
import { Invalid } from '../../problem.ts'
import { instant, integer, oneOf, Type } from '../../schema.ts'
import { countRecovery, pullOnce, startRecovery } from '../../webhooks/recovery.ts'
import {
  cancelReplay as cancel,
  countReplay,
  getReplay,
  type Replay,
  type Selection,
  startReplay as start,
} from '../../webhooks/replay.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { Entity, IdParams, idOfPath, webhookSchema } from './webhook-resource.ts'
import { find } from './webhooks.ts'

const total = integer('How many deliveries it chose.', 12)

const ReplayBody = Type.Object(
  {
    id: integer('The id of the replay.', 1),
    webhookId: integer('The webhook it is for.', 1),
    state: oneOf(['running', 'finished', 'canceled'], { description: 'How far it is.' }),
    total,
    done: integer('How many of them it has queued.', 5),
    since: Type.Optional(instant('Of a recovery: since when it looks')),
    pulled: Type.Optional(
      integer('Of a recovery: how many that waited for their next attempt it has made due at once.', 3),
    ),
    createdAt: instant('When it was started'),
    finishedAt: Type.Optional(instant('When it was finished or canceled')),
  },
  { title: 'Replay', description: 'A job that sends deliveries again.' },
)

const ReplayCount = Type.Object({ total }, { title: 'ReplayCount', description: 'What a dry run counted.' })

const ReplayParams = Type.Object({ ...IdParams.properties, replayId: idOfPath('The id of the replay.') })

const chosenBy = (...fields: string[]) => fields.map((field) => ({ required: [field] }))

const ReplayDraft = Type.Object(
  {
    from: Type.Optional(instant('Deliveries made at or after this moment')),
    to: Type.Optional(
      instant('Deliveries made before this moment; later than `from`', { examples: [1_798_761_600_000] }),
    ),
    entity: Type.Optional(Entity),
    failed: Type.Optional(Type.Boolean({ description: 'Only those that failed after all retries.', examples: [true] })),
    dryRun: Type.Optional(Type.Boolean({ description: 'Count them, and send nothing.', examples: [false] })),
  },
  {
    title: 'ReplayDraft',
    description: 'Which deliveries to replay: by time, by entity, or all that failed.',
    additionalProperties: false,
    // `failed: false` chooses nothing.
    anyOf: [...chosenBy('from', 'to', 'entity'), { required: ['failed'], properties: { failed: { const: true } } }],
    examples: [{ failed: true, dryRun: true }],
  },
)

export const startReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'startReplay', tags: ['Deliveries'] },
    summary: 'Send a selection of deliveries again, or count them',
    description: 'A job in the background, whose progress can be asked for. A webhook has ten of them running at most.',
    params: IdParams,
    body: ReplayDraft,
    response: { 200: ReplayCount, 201: ReplayBody },
    answerHeaders: ['Location'],
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { dryRun, ...selection } = request.body as Selection & { dryRun?: boolean }
    checkSelection(selection)
    const webhook = await find(context, caller, request)
    if (dryRun) return reply.status(200).send({ total: (await countReplay(context.db, webhook, selection)).total })
    const replay = await start(context.db, webhook, selection, caller.act)
    const location = `${context.baseUrl}/v2/webhooks/${webhook.id}/replays/${replay.id}`
    return reply.status(201).header('location', location).send(printReplay(replay))
  },
}

export const fetchReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'getReplay', tags: ['Deliveries'] },
    summary: 'How far a replay is',
    description: 'While it is running, and afterwards.',
    params: ReplayParams,
    response: { 200: ReplayBody },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    return printReplay(await getReplay(context.db, webhook, replayIdOf(request.params)))
  },
}

export const cancelReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'cancelReplay', tags: ['Deliveries'] },
    summary: 'Stop a replay',
    description: 'What it has queued is sent all the same.',
    params: ReplayParams,
    response: { 200: ReplayBody },
  },
  async handle(context, caller, request) {
    const { db } = context
    const webhook = await find(context, caller, request)
    const id = replayIdOf(request.params)
    return printReplay(await db.transaction((sql) => cancel(sql, webhook, id, caller.act)))
  },
}

const RecoveryDraft = Type.Object(
  {
    since: instant(
      'Since when the receiver had trouble: what failed after all retries from then on is sent again; not in the future',
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Count, and send nothing.', examples: [false] })),
  },
  {
    title: 'RecoveryDraft',
    description: 'Since when to recover.',
    additionalProperties: false,
    examples: [{ since: 1_767_225_600_000, dryRun: true }],
  },
)

const RecoveryCount = Type.Object(
  {
    total: integer('How many failed after all retries, and would be sent again.', 12),
    waiting: integer('How many wait for their next attempt, and would be tried now; counted up to 1,000.', 3),
  },
  { title: 'RecoveryCount', description: 'What a dry run counted.' },
)

export const recoverWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'recoverWebhook', tags: ['Deliveries'] },
    summary: 'Recover after a receiver was fixed, or count what that would do',
    description:
      'What waits for its next attempt is tried now, a webhook that is retried once a minute is retried at once, and what failed after all retries since a moment, and not delivered or skipped since, is sent again. A webhook that was disabled is resumed; one that is paused is refused with 409. It is a replay, whose progress can be asked for as such; one at a time.',
    params: IdParams,
    body: RecoveryDraft,
    response: { 200: RecoveryCount, 201: ReplayBody },
    answerHeaders: ['Location'],
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { db, clock } = context
    const { dryRun, since } = request.body as { since: number; dryRun?: boolean }
    if (since > caller.act.at.getTime()) throw new Invalid([{ field: 'since', problem: 'must not lie in the future' }])
    const webhook = await find(context, caller, request)
    if (dryRun) return reply.status(200).send({ ...(await countRecovery(db, webhook, new Date(since), caller.act.at)) })
    const { id } = await startRecovery(db, webhook, new Date(since), caller.act)
    // What is started goes on by itself; the first bite goes at once.
    await pullOnce(db, clock, id).catch(() => {})
    const location = `${context.baseUrl}/v2/webhooks/${webhook.id}/replays/${id}`
    return reply
      .status(201)
      .header('location', location)
      .send(printReplay(await getReplay(db, webhook, id)))
  },
}

/** What no schema can say. */
function checkSelection({ from, to }: Selection): void {
  if (from !== undefined && to !== undefined && from >= to)
    throw new Invalid([{ field: 'from', problem: 'must be earlier than to' }])
}

function replayIdOf(params: unknown): number {
  return (params as { replayId: number }).replayId
}

function printReplay({ id, webhookId, selection, state, total, done, pulled, createdAt, finishedAt }: Replay) {
  return {
    ...{ id, webhookId, state, total, done, createdAt: createdAt.getTime() },
    ...(selection.since !== undefined && { since: selection.since, pulled }),
    ...(finishedAt && { finishedAt: finishedAt.getTime() }),
  }
}
