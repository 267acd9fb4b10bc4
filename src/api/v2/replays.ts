/**
 * Replaying by time range, by entity, or all that failed: a durable job with progress. A dry run has an
 * address of its own, and what is sent to it cannot start anything: a client that loses a field, or knows one
 * answer of two, still asks for what its caller meant.
 */
import type { FastifyReply } from 'fastify'
import { Invalid } from '../../problem.ts'
import { instant, integer, oneOf, Type } from '../../vocabulary/schema.ts'
import { countRecovery, startRecovery } from '../../webhooks/deliveries/recovery.ts'
import {
  cancelReplay as cancel,
  countReplay,
  getReplay,
  type Replay,
  replayedAtMost,
  type Selection,
  startReplay as start,
} from '../../webhooks/deliveries/replay.ts'
import type { Endpoint } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
import { Entity, IdParams, idOfPath, webhookSchema } from './webhook-resource.ts'
import { find } from './webhooks.ts'

const counted = (description: string) =>
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    format: 'int64',
    description: `${description}; null where there are more than ${replayedAtMost.toLocaleString('en')} to look at.`,
    examples: [12],
  })

const total = counted('How many deliveries it chose')

const ReplayBody = Type.Object(
  {
    id: integer('The id of the replay.', 1),
    webhookId: integer('The webhook it is for.', 1),
    state: oneOf(['running', 'finished', 'canceled'], { description: 'How far it is.' }),
    total,
    done: integer('How many of them it has sent.', 5),
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

const ReplayDraft = Type.Object(
  {
    from: Type.Optional(instant('Deliveries made at or after this moment')),
    to: Type.Optional(
      instant('Deliveries made before this moment; later than `from`', { examples: [1_798_761_600_000] }),
    ),
    entity: Type.Optional(Entity),
    failed: Type.Optional(
      Type.Boolean({ description: 'Only those that failed after all retries.', examples: [true] }),
    ),
  },
  {
    title: 'ReplayDraft',
    description:
      'Which deliveries to replay: by time, by entity, or all that failed. One field at least; `failed: false` chooses nothing.',
    additionalProperties: false,
    examples: [{ failed: true }],
  },
)

export const countReplays: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'countReplay', tags: ['Deliveries'] },
    summary: 'Count the deliveries that a replay would send again',
    description: 'A dry run: it takes what a replay takes, and sends nothing.',
    params: IdParams,
    body: ReplayDraft,
    response: { 200: ReplayCount },
  },
  async handle(context, caller, request) {
    const selection = readSelection(request.body)
    const webhook = await find(context, caller, request)
    return { total: (await countReplay(context.db, webhook, selection)).total }
  },
}

export const startReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'startReplay', tags: ['Deliveries'] },
    summary: 'Send a selection of deliveries again',
    description:
      'A job in the background, whose progress can be asked for. A webhook has ten of them running at most. `/replays/dry-run` counts what it would send.',
    params: IdParams,
    body: ReplayDraft,
    response: { 201: ReplayBody },
    answerHeaders: ['Location'],
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const selection = readSelection(request.body)
    const webhook = await find(context, caller, request)
    return sendStarted(reply, context.baseUrl, await start(context.db, webhook, selection, caller.act))
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
    description: 'What it has begun to send is sent all the same.',
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
  },
  {
    title: 'RecoveryDraft',
    description: 'Since when to recover.',
    additionalProperties: false,
    examples: [{ since: 1_767_225_600_000 }],
  },
)

const RecoveryCount = Type.Object(
  {
    total: counted('How many failed after all retries, and would be sent again'),
    waiting: integer('How many wait for their next attempt, and would be tried now.', 3),
  },
  { title: 'RecoveryCount', description: 'What a dry run counted.' },
)

export const countRecoveries: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'countRecovery', tags: ['Deliveries'] },
    summary: 'Count what a recovery would send and try',
    description: 'A dry run: it takes what a recovery takes, and sends nothing.',
    params: IdParams,
    body: RecoveryDraft,
    response: { 200: RecoveryCount },
  },
  async handle(context, caller, request) {
    const since = readSince(request.body, caller.act.at)
    const webhook = await find(context, caller, request)
    return { ...(await countRecovery(context.db, webhook, since, caller.act.at)) }
  },
}

export const recoverWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'recoverWebhook', tags: ['Deliveries'] },
    summary: 'Recover after a receiver was fixed',
    description:
      'What waits for its next attempt is tried now, a webhook that is retried once a minute is retried at once, and what failed after all retries since a moment, and not delivered or skipped since, is sent again. A webhook that was disabled is resumed; one that is paused is refused with 409. It is a replay, whose progress can be asked for as such; one at a time. `/recover/dry-run` counts what it would do.',
    params: IdParams,
    body: RecoveryDraft,
    response: { 201: ReplayBody },
    answerHeaders: ['Location'],
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { db } = context
    const since = readSince(request.body, caller.act.at)
    const webhook = await find(context, caller, request)
    const { id } = await startRecovery(db, webhook, since, caller.act)
    return sendStarted(reply, context.baseUrl, await getReplay(db, webhook, id))
  },
}

/** With what no schema says that every generator reads. */
function readSelection(body: unknown): Selection {
  const selection = body as Selection
  const { from, to, entity, failed } = selection
  if (from === undefined && to === undefined && entity === undefined && failed !== true)
    throw new Invalid([
      { field: 'body', problem: 'must choose something: from, to, entity, or failed: true' },
    ])
  if (from !== undefined && to !== undefined && from >= to)
    throw new Invalid([{ field: 'from', problem: 'must be earlier than to' }])
  return selection
}

function readSince(body: unknown, now: Date): Date {
  const { since } = body as { since: number }
  if (since > now.getTime()) throw new Invalid([{ field: 'since', problem: 'must not lie in the future' }])
  return new Date(since)
}

/** A recovery is a replay, and is asked for as one. */
function sendStarted(reply: FastifyReply, baseUrl: string, replay: Replay): FastifyReply {
  const location = `${baseUrl}/v2/webhooks/${replay.webhookId}/replays/${replay.id}`
  return reply.status(201).header('location', location).send(printReplay(replay))
}

function replayIdOf(params: unknown): number {
  return (params as { replayId: number }).replayId
}

function printReplay({
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
  return {
    ...{ id, webhookId, state, total, done, createdAt: createdAt.getTime() },
    ...(selection.since !== undefined && { since: selection.since, pulled }),
    ...(finishedAt && { finishedAt: finishedAt.getTime() }),
  }
}
