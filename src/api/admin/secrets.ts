/** Secrets of what is declared: made by a POST that shows them once. */

import { clients } from '../../administration/clients.ts'
import type { DeclaredKind, Work } from '../../administration/kind.ts'
import { actOnObject } from '../../administration/object.ts'
import { providers } from '../../administration/providers.ts'
import {
  makeClientSecret,
  makeServiceSecret,
  makeWebhookSecret,
  revokeClientSecret,
  setProviderCredential,
} from '../../administration/secrets.ts'
import { services } from '../../administration/services.ts'
import { webhooks } from '../../administration/webhooks.ts'
import { instant, integer, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { dependenciesOf, type NameOnly, NameParams, refuseOtherSite } from './declared.ts'
import { actFor, administration, numberParam, ReasonQuery, reason } from './frame.ts'

const secret = text('The secret. It is never shown again.', 'csl…')
const hint = text('Its last characters.', 'x7Qa')

const NumberedSecret = Type.Object(
  { id: integer('Its number.', 3), secret, hint },
  { title: 'MadeClientSecret', description: 'A secret of a client, shown once.' },
)

const MadeSecret = Type.Object(
  { secret, hint },
  { title: 'MadeSecret', description: 'A secret, shown once.' },
)

const IdempotencyKey = Type.Optional(
  text('With it the same request is answered the same for a day, and makes nothing more.', '7f3c2a', {
    pattern: '^[!-~]{1,200}$',
  }),
)

const OptionalReason = Type.Object({ reason: Type.Optional(reason) }, { additionalProperties: false })

type SecretRequest = NameOnly & {
  Querystring: { readonly reason?: string }
  Headers: { readonly 'idempotency-key'?: string }
}

interface SecretWords {
  readonly operationId: string
  readonly summary: string
  readonly description: string
}

function makesSecret<Spec extends object>(
  kind: DeclaredKind<Spec>,
  words: SecretWords,
  answer: typeof MadeSecret,
  make: (work: Work, id: string) => Promise<object>,
): Endpoint<Administrator, SecretRequest> {
  return {
    schema: {
      ...administration,
      ...words,
      params: NameParams,
      querystring: OptionalReason,
      headers: Type.Object({ 'idempotency-key': IdempotencyKey }),
      response: { 201: answer },
      mayConflict: true,
    },
    async handle(context, caller, request, reply) {
      refuseOtherSite(kind, context)
      const made = await actOnObject(
        context.db,
        dependenciesOf(context),
        kind,
        request.params.name,
        { idempotencyKey: request.headers['idempotency-key'] },
        actFor(caller, request.query),
        make,
      )
      return reply.status(201).send(made)
    },
  }
}

export const postClientSecret = makesSecret(
  clients,
  {
    operationId: 'makeClientSecret',
    summary: 'Make a secret of a client',
    description: 'Beside the one that there is; two at most live at once.',
  },
  NumberedSecret,
  makeClientSecret,
)

export const postServiceSecret = makesSecret(
  services,
  {
    operationId: 'makeServiceSecret',
    summary: 'Make the secret of a service',
    description: 'Its only one: the one of before is refused from now on.',
  },
  MadeSecret,
  makeServiceSecret,
)

export const postWebhookSecret = makesSecret(
  webhooks,
  {
    operationId: 'makeWebhookSecret',
    summary: 'Make a secret of a webhook',
    description: 'It signs from now on. The one of before is in `webhook-signature` for a day more.',
  },
  MadeSecret,
  makeWebhookSecret,
)

export const deleteClientSecret: Endpoint<
  Administrator,
  {
    Params: { readonly name: string; readonly id: number }
    Querystring: { readonly reason: string }
  }
> = {
  schema: {
    ...administration,
    operationId: 'revokeClientSecret',
    summary: 'Revoke a secret of a client',
    description: 'It counts no more, with the next request on every node.',
    params: Type.Object({ ...NameParams.properties, id: numberParam('Its number.') }),
    querystring: ReasonQuery,
    response: {
      200: Type.Object(
        { id: integer('Its number.', 3) },
        { title: 'RevokedClientSecret', description: 'It is revoked.' },
      ),
    },
  },
  async handle(context, caller, request) {
    const { name, id } = request.params
    const act = actFor(caller, request.query)
    return actOnObject(
      context.db,
      dependenciesOf(context),
      clients,
      name,
      {},
      act,
      async (work, clientId) => {
        await revokeClientSecret(work, clientId, id)
        return { id }
      },
    )
  },
}

export const postProviderCredential: Endpoint<
  Administrator,
  SecretRequest & { Body: { readonly credential: string } }
> = {
  schema: {
    ...administration,
    operationId: 'setProviderCredential',
    summary: 'Give a provider its credential',
    description: 'In place of the one that it has: used from the next sign-in on, and never shown.',
    params: NameParams,
    querystring: OptionalReason,
    headers: Type.Object({ 'idempotency-key': IdempotencyKey }),
    body: Type.Object(
      {
        credential: text('The secret that the provider gave, or a private key in PEM.', 'a secret', {
          minLength: 1,
          maxLength: 10_000,
        }),
      },
      {
        title: 'GivenCredential',
        description: 'What the gateway shows the provider who it is by.',
        additionalProperties: false,
      },
    ),
    response: {
      200: Type.Object(
        { credentialAt: instant('Since when it is asked with this one') },
        { title: 'CredentialSet', description: 'It is used from now on.' },
      ),
    },
    mayConflict: true,
  },
  async handle(context, caller, request) {
    refuseOtherSite(providers, context)
    const { credential } = request.body
    return actOnObject(
      context.db,
      dependenciesOf(context),
      providers,
      request.params.name,
      { idempotencyKey: request.headers['idempotency-key'], asked: { credential } },
      actFor(caller, request.query),
      (work, id) => setProviderCredential(work, id, credential),
    )
  },
}
