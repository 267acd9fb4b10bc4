/**
 * Registering webhooks: create, list, fetch one (Spec 4.7), update, delete, pause, resume, rotate the secret.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { UrlText } from '../../network/address-guard.ts'
import { instant, Type, text } from '../../vocabulary/schema.ts'
import {
  createWebhook as create,
  getWebhook,
  listWebhooks as list,
  deleteWebhook as remove,
  rotateWebhookSecret as rotate,
  secretCharacters,
  setWebhookState,
  updateWebhook as update,
  type Webhook,
  type WebhookDraft,
} from '../../webhooks/subscriptions/webhook.ts'
import { ActionLists, Description, KindList, RateLimit } from '../../webhooks/subscriptions/webhook-bodies.ts'
import { readHeaderNames } from '../../webhooks/subscriptions/webhook-headers.ts'
import type { Endpoint } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
import {
  HeaderValues,
  IdParams,
  idOf,
  ListedWebhook,
  limitOf,
  NextCursor,
  PageQuery,
  parseCursor,
  printCursor,
  printListedWebhooks,
  printSettings,
  printWebhook,
  registrationDependencies,
  WebhookBody,
  WebhookSettingsBody,
  webhookSchema,
} from './webhook-resource.ts'

const secret = text(
  'Signs in place of the client secret. It is never shown again.',
  'correct horse battery',
  {
    minLength: secretCharacters.least,
    maxLength: secretCharacters.most,
  },
)

const draft = {
  url: UrlText,
  secret: Type.Optional(secret),
  kinds: Type.Optional(KindList),
  actions: Type.Optional(ActionLists),
  rateLimit: Type.Optional(RateLimit),
  headers: Type.Optional(HeaderValues),
  description: Type.Optional(Description),
}

const WebhookDraftBody = Type.Object(draft, {
  title: 'WebhookDraft',
  description: 'A webhook to be registered.',
  additionalProperties: false,
  examples: [{ url: 'https://app.example.com/hooks', kinds: ['TRANSACTION', 'APPLICATION'] }],
})

const WebhookChange = Type.Object(
  { ...draft, url: Type.Optional(UrlText) },
  {
    title: 'WebhookChange',
    description: 'What is to change of a webhook. What is not given stays.',
    additionalProperties: false,
    minProperties: 1,
    examples: [{ url: 'https://app.example.com/hooks/2' }],
  },
)

const WebhookPage = Type.Object(
  { webhooks: Type.Array(ListedWebhook, { description: 'In the order of their ids.' }), next: NextCursor },
  { title: 'WebhookPage', description: 'Some of the webhooks of the branch.' },
)

const SecretChange = Type.Object(
  {
    secret,
    switchAt: Type.Optional(
      instant('From when on the new secret signs, at most seven days on; now unless given'),
    ),
  },
  {
    title: 'SecretChange',
    description: 'A new signing secret.',
    additionalProperties: false,
    examples: [{ secret: 'correct horse battery' }],
  },
)

export const createWebhook: Endpoint<BranchCaller, { Body: WebhookDraft }> = {
  schema: {
    ...webhookSchema,
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    description:
      'The URL must be https and public. Deliveries begin with the next event. A branch may register 100 webhooks; the secret of the client signs unless a secret is given, which a client of FAPI 2.0 has to.',
    body: WebhookDraftBody,
    response: { 201: WebhookBody },
    answerHeaders: ['Location'],
    mayConflict: true,
    makesWebhook: true,
  },
  async handle(context, caller, request, reply) {
    const draft = request.body
    const webhook = await create(
      registrationDependencies(context),
      caller,
      caller.clientId,
      draft,
      caller.act,
    )
    return reply
      .status(201)
      .header('location', `${context.baseUrl}/v2/webhooks/${webhook.id}`)
      .send(printWebhook(webhook))
  },
}

export const listWebhooks: Endpoint<BranchCaller, { Querystring: PageQuery }> = {
  schema: {
    ...webhookSchema,
    operationId: 'listWebhooks',
    summary: 'List the webhooks of the branch',
    description: 'In pages. Webhooks that were deleted are not listed.',
    querystring: Type.Object(PageQuery),
    response: { 200: WebhookPage },
  },
  async handle(context, caller, request) {
    const { query } = request
    const most = limitOf(query)
    const page = await list(context.db, caller, parseCursor(query.cursor, 0), most)
    return {
      webhooks: await printListedWebhooks(context, page),
      next: printCursor(page.length === most ? page.at(-1)?.id : undefined),
    }
  },
}

export const fetchWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    operationId: 'getWebhook',
    summary: 'Fetch one webhook of the branch',
    description: "Another branch's webhook is answered like one that does not exist.",
    params: IdParams,
    response: { 200: WebhookBody },
  },
  handle: async (context, caller, request) => printWebhook(await find(context, caller, request)),
}

export const fetchSettings: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    operationId: 'getWebhookSettings',
    summary: 'Fetch what was chosen for a webhook',
    description: 'Kinds, actions, rate limit, the names of its own headers and the description.',
    params: IdParams,
    response: { 200: WebhookSettingsBody },
  },
  async handle(context, caller, request) {
    const webhook = await find(context, caller, request)
    return printSettings(webhook, await readHeaderNames(context.db, webhook))
  },
}

/** PUT and PATCH do the same; an operation has one name. */
export function updateWebhook(
  operationId: 'putWebhook' | 'updateWebhook',
): Endpoint<BranchCaller, { Body: Partial<WebhookDraft> }> {
  return {
    schema: {
      ...webhookSchema,
      operationId,
      summary: 'Change the URL, the secret or the settings of a webhook',
      description:
        'PUT and PATCH do the same: what is not given stays. A new secret signs at once. Headers were given for a host: a URL of another host needs them given again, or removed.',
      params: IdParams,
      body: WebhookChange,
      response: { 200: WebhookBody },
    },
    async handle(context, caller, request) {
      const webhook = await find(context, caller, request)
      const changed = await update(registrationDependencies(context), webhook, request.body, caller.act)
      return printWebhook(changed)
    },
  }
}

export const deleteWebhook: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Nothing more is sent to it. What was delivered stays in the history of the branch.',
    params: IdParams,
    response: { 204: Type.Null({ description: 'It is deleted.' }) },
  },
  async handle(context, caller, request, reply) {
    const webhook = await find(context, caller, request)
    await remove(context.db, webhook, caller.act)
    return reply.status(204).send()
  },
}

export const pauseWebhook = stateEndpoint('paused', {
  operationId: 'pauseWebhook',
  summary: 'Hold back the deliveries of a webhook',
  description: 'What happens meanwhile waits, and goes out in order when the webhook is resumed.',
})
export const resumeWebhook = stateEndpoint('active', {
  operationId: 'resumeWebhook',
  summary: 'Let the deliveries of a paused or disabled webhook go on',
  description: 'What waited goes out. Nothing happens to a webhook that is active.',
})

export const rotateSecret: Endpoint<
  BranchCaller,
  { Body: { readonly secret: string; readonly switchAt?: number } }
> = {
  schema: {
    ...webhookSchema,
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret, at once or at a named moment',
    description:
      'From that moment on the new secret makes `x-webhook-signature`. `webhook-signature` has both until a day later.',
    params: IdParams,
    body: SecretChange,
    response: { 204: Type.Null({ description: 'The secret is replaced, or will be.' }) },
  },
  async handle(context, caller, request, reply) {
    const webhook = await find(context, caller, request)
    const { body } = request
    const switchAt = body.switchAt === undefined ? caller.act.at : new Date(body.switchAt)
    await rotate(registrationDependencies(context), webhook, body.secret, switchAt, caller.act)
    return reply.status(204).send()
  },
}

function stateEndpoint(
  state: 'active' | 'paused',
  words: { operationId: string; summary: string; description: string },
): Endpoint<BranchCaller> {
  return {
    schema: { ...webhookSchema, ...words, params: IdParams, response: { 200: ListedWebhook } },
    async handle(context, caller, request) {
      const webhook = await find(context, caller, request)
      const changed = await setWebhookState(context.db, webhook, state, caller.act)
      return (await printListedWebhooks(context, [changed]))[0]
    },
  }
}

export function find({ db }: Context, caller: BranchCaller, request: FastifyRequest): Promise<Webhook> {
  return getWebhook(db, caller, idOf(request.params))
}
