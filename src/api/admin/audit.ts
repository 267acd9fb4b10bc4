/** The audit log, newest first, as the page of the console searches it. */
import type { AuditEntry } from '../../audit/audit.ts'
import { searchEntries } from '../../audit/entry-search.ts'
import { findActions } from '../../audit/sentence.ts'
import { Invalid } from '../../problem.ts'
import { environments } from '../../vocabulary/environment.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { linePattern } from '../../webhooks/subscriptions/note.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import {
  administration,
  limit,
  NumberCursor,
  nextPage,
  orNull,
  type Paged,
  readPage,
  refuseSandbox,
} from './frame.ts'

const Entry = Type.Object(
  {
    id: integer('Its number: they only grow.', 4711),
    at: instant('When the act began'),
    actor: text('Who did it.', 'user:id-k3jf8s2a1f0z'),
    action: text('What was done.', 'client.created'),
    subject: text('Target of it.', 'client:app_k3jf8s2a'),
    environment: Type.Unsafe<(typeof environments)[number] | null>({
      type: ['string', 'null'],
      enum: [...environments, null],
      description: 'On which site; null for what belongs to none.',
    }),
    address: orNull('From where.', '192.0.2.7'),
    requestId: orNull('By which request.', 'k3jf8s2a-1f'),
    details: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      title: 'AuditDetails',
      description: 'What else there is to it; `reason` as whoever did it gave it.',
      additionalProperties: true,
      examples: [{ reason: 'Ticket 4711' }],
    }),
  },
  { title: 'AuditEntry', description: 'An act: by whom, when, from where.' },
)

const asked = (description: string, example: string) =>
  Type.Optional(text(description, example, { minLength: 1, maxLength: 200, pattern: linePattern }))

interface AuditQuery extends Paged {
  readonly actor?: string
  readonly action?: string
  readonly subject?: string
  readonly environment?: (typeof environments)[number] | 'none'
  readonly address?: string
  readonly requestId?: string
  readonly from?: number
  readonly to?: number
}

export const searchAudit: Endpoint<Administrator, { Querystring: AuditQuery }> = {
  schema: {
    ...administration,
    operationId: 'searchAudit',
    summary: 'Search the audit log',
    description:
      'Newest first. A search that finds little may answer a page that is not full, or empty, with `next`: it has looked so far back.',
    querystring: Type.Object(
      {
        cursor: NumberCursor,
        limit,
        actor: asked('Who did it.', 'credential:7'),
        action: asked('What was done, or the first half of it.', 'client.created'),
        subject: asked('Target of it.', 'webhook:42'),
        environment: Type.Optional(
          oneOf([...environments, 'none'], { description: 'On which site; `none`: what belongs to none.' }),
        ),
        address: asked('From where.', '192.0.2.7'),
        requestId: asked('By which request; codes exchanged and tokens refreshed are not found by it.', 'k3'),
        from: Type.Optional(instant('What began at this time or later')),
        to: Type.Optional(instant('What began before')),
      },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object(
        { items: Type.Array(Entry, { description: 'Newest first.' }), next: nextPage },
        { title: 'AuditPage', description: 'Some of them.' },
      ),
    },
  },
  async handle(context, _caller, request) {
    refuseSandbox(context)
    const { action, from, to, actor, subject, environment, address, requestId } = request.query
    if (from !== undefined && to !== undefined && from >= to)
      throw new Invalid([{ field: 'from', problem: 'must be earlier than the end' }])
    const question = {
      ...{ actor, subject, environment, address, requestId },
      actions: action === undefined ? undefined : findActions(action),
      from: from === undefined ? undefined : new Date(from),
      to: to === undefined ? undefined : new Date(to),
    }
    const { before, most } = readPage(request.query)
    const { entries, next } = await searchEntries(context.db, question, before, { most })
    return { items: entries.map(printEntry), next: next === undefined ? null : `c${next}` }
  },
}

function printEntry({ at, ...entry }: AuditEntry) {
  return { ...entry, at: at.getTime() }
}
