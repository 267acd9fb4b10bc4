/** Skipping all that waits at a webhook: a durable job whose progress can be asked for. */
import { instant, integer, oneOf, Type, text } from '../../schema.ts'
import { noteCharacters, textPattern } from '../../webhooks/note.ts'
import { getSkip, type Skip, startSkip as start, usualReason } from '../../webhooks/skip.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { IdParams, idOfPath, webhookSchema } from './webhook-resource.ts'
import { find } from './webhooks.ts'

const Reason = text('Why, for whoever reads the log later.', 'the amounts were wrong', {
  minLength: 1,
  maxLength: noteCharacters,
  pattern: textPattern,
})

export const SkipDraft = Type.Object(
  { reason: Type.Optional(Reason) },
  {
    title: 'SkipDraft',
    description: 'Why something is skipped; an empty object will do.',
    additionalProperties: false,
    examples: [{ reason: 'the amounts were wrong' }],
  },
)

export function reasonOf(body: unknown): string {
  return (body as { reason?: string }).reason ?? usualReason
}

const SkipBody = Type.Object(
  {
    id: integer('The id of the skip.', 1),
    webhookId: integer('The webhook it is for.', 1),
    state: oneOf(['running', 'finished'], { description: 'How far it is.' }),
    reason: text('Why they are skipped.', 'the amounts were wrong'),
    skipped: integer('How many deliveries it has skipped.', 5),
    createdAt: instant('When it was started'),
    finishedAt: Type.Optional(instant('When it was finished')),
  },
  { title: 'Skip', description: 'A job that skips all that waited at a webhook when it was started.' },
)

const SkipParams = Type.Object({ ...IdParams.properties, skipId: idOfPath('The id of the skip.') })

export const startSkip: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'startSkip', tags: ['Deliveries'] },
    summary: 'Skip all deliveries that wait at a webhook',
    description:
      'A job in the background, whose progress can be asked for. What is created later is delivered. Asked again while it runs, it goes on to what waits by then. A replay that is running goes on: stop it first.',
    params: IdParams,
    body: SkipDraft,
    response: { 202: SkipBody },
    answerHeaders: ['Location'],
  },
  async handle(context, caller, request, reply) {
    const webhook = await find(context, caller, request)
    const skip = await start(context.db, webhook, reasonOf(request.body), caller.act)
    const location = `${context.baseUrl}/v2/webhooks/${webhook.id}/skips/${skip.id}`
    return reply.status(202).header('location', location).send(printSkip(skip))
  },
}

export const fetchSkip: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'getSkip', tags: ['Deliveries'] },
    summary: 'How far a skip is',
    description: 'While it is running, and afterwards.',
    params: SkipParams,
    response: { 200: SkipBody },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    return printSkip(await getSkip(context.db, webhook, (request.params as { skipId: number }).skipId))
  },
}

function printSkip({ id, webhookId, state, reason, skipped, createdAt, finishedAt }: Skip) {
  return {
    ...{ id, webhookId, state, reason, skipped, createdAt: createdAt.getTime() },
    ...(finishedAt && { finishedAt: finishedAt.getTime() }),
  }
}
