/** The endpoints of a kind that is declared: list, fetch, PUT and DELETE, by the name that a caller chose. */
import type { FastifyReply } from 'fastify'
import type { TObject } from 'typebox'
import type { DeclaredKind } from '../../administration/kind.ts'
import {
  type DeclarationOutcome,
  declareObject,
  endObject,
  getObject,
  listObjects,
} from '../../administration/object.ts'
import type { Context } from '../../context.ts'
import { namePattern } from '../../naming/object-name.ts'
import { isDevelopment } from '../../settings/config.ts'
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { actFor, administration, MadeProposal, nextPage, reason, refuseSandbox } from './frame.ts'

const ownerPattern = '^[A-Za-z0-9._/-]{1,100}$'

export const NameParams = Type.Object({
  name: text('Its name.', 'acme', { pattern: namePattern }),
})

const ActQuery = {
  dryRun: Type.Optional(
    oneOf(['true', 'false'], { description: '`true` answers what would come of it, and does nothing.' }),
  ),
  reason: Type.Optional(reason),
}

interface ActQuery {
  readonly dryRun?: 'true' | 'false'
  readonly reason?: string
}

const IfMatch = Type.Optional(
  text('The version that the caller has last seen, or `*`: there is one.', '"Qm9va3M0.YWJjZGVm"', {
    maxLength: 500,
  }),
)

const Owner = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  pattern: ownerPattern,
  description: 'A label of whoever declares it; null for none.',
  examples: ['platform/staging'],
})

const anything = (description: string) => Type.Unsafe<unknown>({ description })

const Change = Type.Object(
  {
    field: text('Which field.', 'spec.state'),
    before: anything('What it was.'),
    after: anything('What it is, or shall be.'),
    proposed: Type.Boolean({ description: 'Whether another person has to decide first.' }),
  },
  { title: 'DeclaredChange', description: 'A field that is, or shall be, another.' },
)

const kindName = text('Its kind.', 'partners')
const etag = text('Its version.', '"Qm9va3M0.YWJjZGVm"')

const Outcome = Type.Object(
  {
    kind: kindName,
    name: text('Its name.', 'acme'),
    outcome: oneOf(['created', 'changed', 'proposed', 'unchanged', 'removed'], {
      description: 'What came of it; `proposed` where nothing else did.',
    }),
    dryRun: Type.Boolean({ description: 'Whether all of it was undone.' }),
    changes: Type.Array(Change, { description: 'Field by field.' }),
    proposals: Type.Array(MadeProposal, { description: 'What another person has to decide.' }),
    etag: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Its version afterwards; null where it is gone.',
      examples: ['"Qm9va3M0.YWJjZGVm"'],
    }),
  },
  { title: 'DeclarationOutcome', description: 'What came of a declaration.' },
)

/** How the interface calls a kind. */
interface KindWords {
  /** `Partner`, `Partners`: operations and schemas are called so. */
  readonly one: string
  readonly many: string
  /** `a partner`, in sentences. */
  readonly a: string
}

export type NameOnly = { Params: { readonly name: string } }

interface WriteHeaders {
  readonly 'if-match'?: string
  readonly 'if-none-match'?: string
}

/** The four endpoints of a kind. */
export function declared<Spec extends object>(kind: DeclaredKind<Spec>, { one, many, a }: KindWords) {
  const Item = describeItem(kind, one)
  const list: Endpoint<
    Administrator,
    { Querystring: { readonly cursor?: string; readonly limit?: number; readonly owner?: string } }
  > = {
    schema: {
      ...administration,
      operationId: `list${many}`,
      summary: `List ${kind.kind}`,
      description: 'By name, in pages.',
      querystring: Type.Object(
        {
          cursor: Type.Optional(
            text('`next` of the page before.', 'cacme', { pattern: '^c[a-z0-9.-]{1,100}$' }),
          ),
          limit: Type.Optional(integer('How many at most.', usualLimit, { minimum: 1, maximum: 100 })),
          owner: Type.Optional(text('Only those with this label.', 'platform', { pattern: ownerPattern })),
        },
        { additionalProperties: false },
      ),
      response: {
        200: Type.Object(
          {
            items: Type.Array(Item, { description: 'By name.' }),
            next: nextPage,
          },
          { title: `${one}Page`, description: 'Some of them.' },
        ),
      },
    },
    async handle(context, _caller, request) {
      const { cursor = 'c', limit = usualLimit, owner } = request.query
      const question = { after: cursor.slice(1), owner, most: limit }
      const items = await listObjects(context.db, context, kind, question, context.clock.now())
      return { items, next: items.length === limit ? `c${items.at(-1)!.name}` : null }
    },
  }

  const fetch: Endpoint<Administrator, NameOnly> = {
    schema: {
      ...administration,
      operationId: `get${one}`,
      summary: `Fetch ${a}`,
      description: '`spec` is what a PUT would take.',
      params: NameParams,
      response: { 200: Item },
      answerHeaders: ['ETag'],
    },
    async handle(context, _caller, request, reply) {
      const { id: _, ...found } = await getObject(
        context.db,
        context,
        kind,
        request.params.name,
        context.clock.now(),
      )
      return reply.header('etag', found.etag).send(found)
    },
  }

  const put: Endpoint<
    Administrator,
    NameOnly & {
      Querystring: ActQuery
      Body: { readonly spec: Partial<Spec>; readonly owner?: string | null }
      Headers: WriteHeaders
    }
  > = {
    schema: {
      ...administration,
      operationId: `put${one}`,
      summary: `Create or replace ${a}`,
      description:
        'What `spec` leaves out stays as it is, and has its default in a new one. 202: something waits for another person.',
      params: NameParams,
      querystring: Type.Object(ActQuery, { additionalProperties: false }),
      headers: Type.Object({
        'if-match': IfMatch,
        'if-none-match': Type.Optional(oneOf(['*'], { description: '`*`: there is none yet.' })),
      }),
      body: Type.Object(
        { spec: kind.specification, owner: Type.Optional(Owner) },
        {
          title: `${one}Declaration`,
          description: `${one} as it shall be.`,
          additionalProperties: false,
        },
      ),
      response: { 200: Outcome, 201: Outcome, 202: Outcome },
      answerHeaders: ['ETag', 'Location'],
      mayConflict: true,
      mayHaveMoved: true,
    },
    async handle(context, caller, request, reply) {
      refuseOtherSite(kind, context)
      const { name } = request.params
      const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
      const outcome = await declareObject(
        context.db,
        dependenciesOf(context),
        kind,
        name,
        request.body,
        { ifMatch, onlyNew: ifNoneMatch === '*', dryRun: request.query.dryRun === 'true' },
        actFor(caller, request.query),
      )
      return sendOutcome(reply, outcome)
    },
  }

  const end: Endpoint<Administrator, NameOnly & { Querystring: ActQuery; Headers: WriteHeaders }> = {
    schema: {
      ...administration,
      operationId: `end${one}`,
      summary: `End ${a}`,
      description: `Takes it away, or suspends what stays for the record: docs/administration.md says which.`,
      params: NameParams,
      querystring: Type.Object(ActQuery, { additionalProperties: false }),
      headers: Type.Object({ 'if-match': IfMatch }),
      response: { 200: Outcome, 202: Outcome },
      answerHeaders: ['ETag'],
      mayConflict: true,
      mayHaveMoved: true,
    },
    async handle(context, caller, request, reply) {
      refuseOtherSite(kind, context)
      const { 'if-match': ifMatch } = request.headers
      const outcome = await endObject(
        context.db,
        dependenciesOf(context),
        kind,
        request.params.name,
        { ifMatch, dryRun: request.query.dryRun === 'true' },
        actFor(caller, request.query),
      )
      return sendOutcome(reply, outcome)
    },
  }
  return { list, fetch, put, end }
}

const usualLimit = 50

export function describeItem<Spec extends object>(
  { specification, status }: Pick<DeclaredKind<Spec>, 'specification' | 'status'>,
  one: string,
): TObject {
  return Type.Object(
    {
      kind: kindName,
      name: text('Its name.', 'acme'),
      owner: Owner,
      spec: specification,
      status,
      etag,
    },
    { title: `Declared${one}`, description: `${one} as it is.` },
  )
}

export function dependenciesOf({ vault, guard, config, environment }: Context) {
  return { vault, guard, environment, isDevelopment: isDevelopment(config) }
}

export function refuseOtherSite({ site }: Pick<DeclaredKind<object>, 'site'>, context: Context): void {
  if (site === 'both') refuseSandbox(context)
}

function sendOutcome(reply: FastifyReply, result: DeclarationOutcome) {
  const { outcome, dryRun, changes, kind, name } = result
  const isNew = outcome === 'created' && !dryRun
  const status = dryRun ? 200 : changes.some(({ proposed }) => proposed) ? 202 : isNew ? 201 : 200
  if (result.etag !== null) reply.header('etag', result.etag)
  if (isNew) reply.header('location', `/admin/v1/${kind}/${name}`)
  return reply.status(status).send(result)
}
