/** Skipping all that waits at a webhook. */
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { getSkip, type Skip, startSkip as start, usualReason } from '../../webhooks/deliveries/skip.ts'
import { noteCharacters, textPattern } from '../../webhooks/subscriptions/note.ts'
import type { Endpoint } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
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
    state: oneOf(['finished'], { description: 'It is done at once.' }),
    reason: text('Why they are skipped.', 'the amounts were wrong'),
    skipped: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      format: 'int64',
      description: 'How many deliveries it has skipped; null where they were too many to be counted.',
      examples: [5],
    }),
    createdAt: instant('When it was done'),
    finishedAt: instant('The same moment'),
  },
  { title: 'Skip', description: 'All that waited at a webhook at a moment, skipped.' },
)

const SkipParams = Type.Object({ ...IdParams.properties, skipId: idOfPath('The id of the skip.') })

export const startSkip: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'startSkip', tags: ['Deliveries'] },
    summary: 'Skip all deliveries that wait at a webhook',
    description:
      'At once, however many they are. What is created later is delivered. A replay that is running goes on: stop it first.',
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

export const fetchSkip: Endpoint<BranchCaller, { Params: { readonly skipId: number } }> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'getSkip', tags: ['Deliveries'] },
    summary: 'What a skip has skipped',
    description: 'As long as the deliveries are kept.',
    params: SkipParams,
    response: { 200: SkipBody },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    return printSkip(await getSkip(context.db, webhook, request.params.skipId))
  },
}

function printSkip({ id, webhookId, reason, skipped, createdAt }: Skip) {
  const at = createdAt.getTime()
  return {
    ...{ id, webhookId, state: 'finished', reason, skipped },
    ...{ createdAt: at, finishedAt: at },
  }
}
