/**
 * Every event that the gateway delivers: what it means, the schema of its body, and an example as it would
 * arrive. The portal's catalogue and the `webhooks` of /openapi.json are printed from here; tests hold it to
 * what receivers get.
 */
import type { TObject } from 'typebox'
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { scopes } from '../../vocabulary/scope.ts'
import { type HeaderWords, wordsOfActions, wordsOfHeaders, wordsOfKinds } from '../events/event-words.ts'
import {
  actionOf,
  isPublishedKind,
  type Kind,
  kinds,
  type Payload,
  payloads,
  printPayload,
} from '../events/kind.ts'
import { printHead } from '../outbound/request-head.ts'
import { printSignatures } from '../outbound/signature.ts'

export interface CatalogueAction {
  readonly action: string
  readonly meaning: string
  readonly example: Payload
}

export interface CatalogueKind {
  readonly kind: Kind
  readonly title: string
  readonly meaning: string
  readonly when: string
  readonly schema: TObject
  readonly actions: readonly CatalogueAction[]
}

const id = (description: string) => integer(description, 42, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const authorizationExample = {
  ...{
    authorizationId: 42,
    clientId: 'Ab3dEf6hIj9kLm2nOp5qRs8t',
    userId: 'id-4f7k2m9q1x3z',
    type: 'AUTHORIZATION',
  },
  ...{ action: 'GRANTED', branchId: 1, scope: 'read trade', reason: null, paused: false },
}

/** A trigger of the database writes it. The order is its order. */
const authorizationFields: Parameters<typeof Type.Object>[0] = {
  authorizationId: id(
    'The authorization: one for an account holder and an application, until it is revoked.',
  ),
  clientId: text('The application, by its `client_id`.', authorizationExample.clientId),
  userId: text('The account holder, by the `id` of the profile.', authorizationExample.userId),
  type: oneOf(['AUTHORIZATION'], { description: 'The kind, always the same.' }),
  action: actionOf('AUTHORIZATION'),
  branchId: id('The branch.'),
  scope: text(`What was approved last: some of ${scopes.join(', ')}, with spaces between.`, 'read trade'),
  reason: Type.Unsafe<string | null>({
    description: 'Of a revocation: why. Otherwise null.',
    examples: ['revoked by the user'],
    type: ['string', 'null'],
  }),
  paused: Type.Boolean({ description: 'Whether the account holder has paused the application.' }),
}

const authorizationBody = Type.Object(authorizationFields, {
  title: 'AuthorizationPayload',
  description: wordsOfKinds.AUTHORIZATION.meaning,
  additionalProperties: false,
  examples: [authorizationExample],
})

export const bodies: Readonly<Record<Kind, TObject & { readonly examples?: readonly Payload[] }>> = {
  ...payloads,
  AUTHORIZATION: authorizationBody,
}

/** What an example of an action has that others of its kind do not. */
const peculiar = new Map<string, Payload>([
  ['APPLICATION.COMPLETED', { clearingAccount: '6YA10001' }],
  ['AUTHORIZATION.CHANGED', { paused: true }],
  ['AUTHORIZATION.REVOKED', { reason: 'revoked by the user' }],
])

/** With examples of this branch. */
export function describeEvents(branchId: number): readonly CatalogueKind[] {
  return kinds.map((kind) => ({
    ...{ kind, ...wordsOfKinds[kind], schema: bodies[kind] },
    actions: Object.entries(wordsOfActions[kind]).map(([action, meaning]) => ({
      ...{ action, meaning },
      example: { ...bodies[kind].examples![0]!, action, ...peculiar.get(`${kind}.${action}`), branchId },
    })),
  }))
}

/** As it is sent: the gateway prints what it is told, PostgreSQL what it tells itself. */
export function printBody(kind: Kind, payload: Payload): string {
  if (isPublishedKind(kind)) return printPayload(kind, payload, undefined)
  const fields = Object.keys(bodies[kind].properties).map(
    (name) => `${JSON.stringify(name)} : ${JSON.stringify(payload[name])}`,
  )
  return `{${fields.join(', ')}}`
}

/** The examples are signed with this secret: a reader who has it can check them. */
export const exampleSecret = 'correct horse battery'
const exampleId = 'evt_0198c5f2a3b47d6e8f90a1b2c3d4e5f6'
const exampleSentAt = new Date('2026-03-02T10:00:00Z')

/** The head of a first attempt, byte for byte. */
export function printExampleHead(body: string, simulated = false): Record<string, string> {
  const message = { id: exampleId, body, sentAt: exampleSentAt, attempt: 1, simulated }
  return printHead(message, printSignatures(message, { current: exampleSecret, all: [exampleSecret] }))
}

interface CatalogueHeader extends HeaderWords {
  readonly name: string
  readonly example: string
}

export function describeHeaders(): readonly CatalogueHeader[] {
  const [first] = describeEvents(1)
  const head = printExampleHead(printBody(first!.kind, first!.actions[0]!.example), true)
  return Object.entries(head).map(([name, example]) => ({ name, example, ...wordsOfHeaders.get(name)! }))
}
