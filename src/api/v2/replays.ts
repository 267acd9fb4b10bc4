/** Replaying by time range, by entity, or all that failed: a durable job with a dry run and progress. */
import Type from 'typebox'
import { Invalid } from '../../problem.ts'
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
import { Entity, IdParams, latestInstantMs, problems, webhookSchema } from './webhook-resource.ts'
import { find } from './webhooks.ts'

const ReplayBody = Type.Object({
  id: Type.Integer(),
  webhookId: Type.Integer(),
  state: Type.String(),
  total: Type.Integer(),
  done: Type.Integer(),
  createdAt: Type.Integer(),
  finishedAt: Type.Optional(Type.Integer()),
})

const ReplayParams = Type.Object({ ...IdParams.properties, replayId: IdParams.properties.id })

const instant = Type.Integer({ minimum: 0, maximum: latestInstantMs, description: 'epoch milliseconds' })

export const startReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Send a selection of deliveries again; with dryRun, only count them',
    params: IdParams,
    body: Type.Object(
      {
        from: Type.Optional(instant),
        to: Type.Optional(instant),
        entity: Type.Optional(Entity),
        failed: Type.Optional(Type.Boolean({ description: 'only exhausted deliveries' })),
        dryRun: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    response: { 200: Type.Object({ total: Type.Integer() }), 201: ReplayBody, ...problems },
  },
  async handle(context, caller, request, reply) {
    const { dryRun, ...selection } = request.body as Selection & { dryRun?: boolean }
    checkSelection(selection)
    const webhook = await find(context, caller, request)
    if (dryRun) return reply.status(200).send({ total: (await countReplay(context.db, webhook, selection)).total })
    const replay = await start(context.db, webhook, selection, caller.by, context.clock.now())
    const location = `${context.baseUrl}/v2/webhooks/${webhook.id}/replays/${replay.id}`
    return reply.status(201).header('location', location).send(printReplay(replay))
  },
}

export const fetchReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'How far a replay is',
    params: ReplayParams,
    response: { 200: ReplayBody, ...problems },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    return printReplay(await getReplay(context.db, webhook, replayIdOf(request.params)))
  },
}

export const cancelReplay: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Stop a replay; what it has set going goes on',
    params: ReplayParams,
    response: { 200: ReplayBody, ...problems },
  },
  async handle(context, caller, request) {
    const { db, clock } = context
    const webhook = await find(context, caller, request)
    const id = replayIdOf(request.params)
    return printReplay(await db.transaction((sql) => cancel(sql, webhook, id, caller.by, clock.now())))
  },
}

/** `failed: false` chooses nothing. */
function checkSelection({ from, to, entity, failed }: Selection): void {
  if (from === undefined && to === undefined && entity === undefined && !failed)
    throw new Invalid([{ field: 'body', problem: 'must choose by from and to, entity, or failed' }])
  if (from !== undefined && to !== undefined && from >= to)
    throw new Invalid([{ field: 'from', problem: 'must be earlier than to' }])
}

function replayIdOf(params: unknown): number {
  return Number((params as { replayId: string }).replayId)
}

function printReplay({ id, webhook_id, state, total, done, created_at, finished_at }: Replay) {
  return {
    ...{ id, webhookId: webhook_id, state, total, done, createdAt: created_at.getTime() },
    ...(finished_at && { finishedAt: finished_at.getTime() }),
  }
}
