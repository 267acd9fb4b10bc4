/** Registering webhooks: create, list, fetch one (spec 4.7), update, delete, pause, resume, rotate the secret. */
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Context } from '../../context.ts'
import {
  createWebhook as create,
  getWebhook,
  listWebhooks as list,
  deleteWebhook as remove,
  rotateWebhookSecret as rotate,
  setWebhookState,
  updateWebhook as update,
  type Webhook,
  type WebhookDraft,
} from '../../webhooks/webhook.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import {
  IdParams,
  idOf,
  KindList,
  ListedWebhook,
  latestInstantMs,
  limitOf,
  PageQuery,
  parseCursor,
  printCursor,
  printListedWebhook,
  printWebhook,
  problems,
  registrationDesk,
  WebhookBody,
  webhookSchema,
} from './webhook-resource.ts'

const secret = Type.String({
  description: 'signs in place of the client secret; 8 to 200 characters; never shown again',
})
const Draft = Type.Object(
  { url: Type.String(), secret: Type.Optional(secret), kinds: Type.Optional(KindList) },
  { additionalProperties: false },
)

export const createWebhook: Endpoint<BranchCaller> = {
  schema: { ...webhookSchema, summary: 'Register a webhook', body: Draft, response: { 201: WebhookBody, ...problems } },
  async handle(context, caller, request, reply) {
    const draft = request.body as WebhookDraft
    const webhook = await create(
      registrationDesk(context),
      caller,
      caller.clientId,
      draft,
      caller.by,
      context.clock.now(),
    )
    return reply
      .status(201)
      .header('location', `${context.baseUrl}/v2/webhooks/${webhook.id}`)
      .send(printWebhook(webhook))
  },
}

export const listWebhooks: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'List the webhooks of the branch',
    querystring: Type.Object(PageQuery),
    response: {
      200: Type.Object({
        webhooks: Type.Array(ListedWebhook),
        next: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
      }),
      ...problems,
    },
  },
  async handle({ db }, caller, request) {
    const query = request.query as { cursor?: string; limit?: string }
    const most = limitOf(query)
    const page = await list(db, caller, parseCursor(query.cursor, 0), most)
    return {
      webhooks: page.map(printListedWebhook),
      next: printCursor(page.length === most ? page.at(-1)!.id : undefined),
    }
  },
}

export const fetchWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Fetch one webhook of the branch',
    params: IdParams,
    response: { 200: WebhookBody, ...problems },
  },
  handle: async (context, caller, request) => printWebhook(await find(context, caller, request)),
}

export const updateWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Change the URL, the kinds or the secret of a webhook',
    params: IdParams,
    body: Type.Partial(Draft, { additionalProperties: false, minProperties: 1 }),
    response: { 200: WebhookBody, ...problems },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    const change = request.body as Partial<WebhookDraft>
    return printWebhook(await update(registrationDesk(context), webhook, change, caller.by, context.clock.now()))
  },
}

export const deleteWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Delete a webhook',
    params: IdParams,
    response: { 204: Type.Null(), ...problems },
  },
  async handle(context, caller, request, reply) {
    await remove(context.db, await find(context, caller, request), caller.by, context.clock.now())
    return reply.status(204).send()
  },
}

export const pauseWebhook = stateEndpoint('paused', 'Hold back the deliveries of a webhook')
export const resumeWebhook = stateEndpoint('active', 'Let the deliveries of a paused or disabled webhook go on')

export const rotateSecret: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Replace the secret, at once or at a named moment',
    params: IdParams,
    body: Type.Object(
      {
        secret,
        switchAt: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: latestInstantMs,
            description: 'epoch milliseconds, at most seven days on; now unless given',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: { 204: Type.Null(), ...problems },
  },
  async handle(context, caller, request, reply) {
    const webhook = await find(context, caller, request)
    const body = request.body as { secret: string; switchAt?: number }
    const now = context.clock.now()
    const switchAt = body.switchAt === undefined ? now : new Date(body.switchAt)
    await rotate(registrationDesk(context), webhook, body.secret, switchAt, caller.by, now)
    return reply.status(204).send()
  },
}

function stateEndpoint(state: 'active' | 'paused', summary: string): Endpoint<BranchCaller> {
  return {
    schema: { ...webhookSchema, summary, params: IdParams, response: { 200: ListedWebhook, ...problems } },
    async handle(context, caller, request) {
      const webhook = await find(context, caller, request)
      return printListedWebhook(await setWebhookState(context.db, webhook, state, caller.by, context.clock.now()))
    },
  }
}

export function find({ db }: Context, caller: BranchCaller, request: FastifyRequest): Promise<Webhook> {
  return getWebhook(db, caller, idOf(request.params))
}
