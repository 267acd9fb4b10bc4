/**
 * People as programs administer them: looked for, locked out, signed out. To unlock somebody gives power, and
 * takes a person in the console.
 */
import type { TObject } from 'typebox'
import { whileStanding } from '../../administration/standing.ts'
import type { Act } from '../../audit/audit.ts'
import type { Sql } from '../../database/database.ts'
import { NotFound } from '../../problem.ts'
import { closeEverySession, closeSessionOf, listSessions } from '../../users/session.ts'
import { refuseActingOn } from '../../users/staff-role.ts'
import { getUserById, setStatusOfOther, type User } from '../../users/user.ts'
import { findUsers } from '../../users/user-search.ts'
import { environments } from '../../vocabulary/environment.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { userRoles } from '../../vocabulary/user-role.ts'
import { linePattern } from '../../webhooks/subscriptions/note.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import {
  actFor,
  administration,
  limit,
  mayOf,
  nextPage,
  numberParam,
  type Paged,
  ReasonQuery,
  readPage,
  refuseSandbox,
} from './frame.ts'

const lockers = ['operator', 'source', 'removal'] as const

const userId = text('Their id.', 'id-k3jf8s2a1f0z', { pattern: '^id-[a-z0-9]{12}$' })

const Person = Type.Object(
  {
    id: text('Their id.', 'id-k3jf8s2a1f0z'),
    username: text('What they sign in with.', 'ada'),
    name: text('What they are called.', 'Ada Lovelace'),
    role: oneOf(userRoles, { description: 'What they are: an account holder, staff, a partner’s own.' }),
    lockedBy: Type.Unsafe<(typeof lockers)[number] | null>({
      type: ['string', 'null'],
      enum: [...lockers, null],
      description: 'What keeps them out; null while they may sign in.',
    }),
    createdAt: instant('Since when they are known'),
  },
  { title: 'Person', description: 'Somebody who can sign in.' },
)

const Params = Type.Object({ id: userId })
type OfUser = { Params: { readonly id: string } }

interface UserQuery extends Paged {
  readonly q?: string
  readonly lockedBy?: (typeof lockers)[number]
}

export const listUsers: Endpoint<Administrator, { Querystring: UserQuery }> = {
  schema: {
    ...administration,
    operationId: 'listUsers',
    summary: 'List users',
    description: 'By username, in pages.',
    querystring: Type.Object(
      {
        cursor: Type.Optional(
          text('`next` of the page before.', 'cada', { pattern: '^c[a-z0-9._@+#-]{1,200}$' }),
        ),
        limit,
        q: Type.Optional(
          text(
            'A username, name, e-mail address, id or account number; with `lockedBy` the beginning of a username.',
            'ada',
            { minLength: 1, maxLength: 100, pattern: linePattern },
          ),
        ),
        lockedBy: Type.Optional(oneOf(lockers, { description: 'Only those whom this keeps out.' })),
      },
      { additionalProperties: false },
    ),
    response: { 200: pageOf(Person, 'PersonPage', 'By username.') },
  },
  async handle(context, _caller, request) {
    refuseSandbox(context)
    const { cursor, q, lockedBy } = request.query
    const question = { text: q, lockedBy, after: cursor?.slice(1) }
    const { users, after } = await findUsers(context.db, question, readPage(request.query).most)
    return { items: users.map(printPerson), next: after === undefined ? null : `c${after}` }
  },
}

function pageOf(item: TObject, title: string, order: string) {
  return Type.Object(
    { items: Type.Array(item, { description: order }), next: nextPage },
    { title, description: 'Some of them.' },
  )
}

function printPerson({ id, username, name, role, lockedBy, createdAt }: User) {
  return { id, username, name, role, lockedBy, createdAt: createdAt.getTime() }
}

export const fetchUser: Endpoint<Administrator, OfUser> = {
  schema: {
    ...administration,
    operationId: 'getUser',
    summary: 'Fetch a user',
    description: 'By their id.',
    params: Params,
    response: { 200: Person },
  },
  async handle(context, _caller, request) {
    refuseSandbox(context)
    return printPerson(await getUserById(context.db, request.params.id))
  },
}

export const lockUser: Endpoint<Administrator, OfUser & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'lockUser',
    summary: 'Lock out a user',
    description:
      'Every session ends, and every token that acts for them is refused. Whom it locks, a person unlocks in the console. A second time it changes nothing.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: Person },
    mayConflict: true,
  },
  async handle(context, caller, request) {
    refuseSandbox(context)
    const act = actFor(caller, request.query)
    const locked = await onUser(context.db, act, request.params.id, async (sql, user) => {
      await setStatusOfOther(sql, user, 'disabled', act)
      return getUserById(sql, user.id)
    })
    return printPerson(locked)
  },
}

/** Whom the credential may act on, while it may. */
function onUser<Result>(
  db: Sql,
  act: Act,
  id: string,
  work: (sql: Sql, user: User) => Promise<Result>,
): Promise<Result> {
  return whileStanding(db, 'users.manage', act, async (sql) => {
    const user = await getUserById(sql, id)
    await refuseActingOn(sql, user, mayOf(act))
    return work(sql, user)
  })
}

const Session = Type.Object(
  {
    id: integer('Its number.', 7),
    environment: oneOf(environments, { description: 'On which site.' }),
    firstSeenAt: instant('When they signed in'),
    lastSeenAt: instant('When it was used last'),
    address: text('From where.', '192.0.2.7'),
    userAgent: text('What the browser says of itself.', 'Mozilla/5.0'),
  },
  { title: 'Session', description: 'Where somebody is signed in.' },
)

export const listUserSessions: Endpoint<Administrator, OfUser> = {
  schema: {
    ...administration,
    operationId: 'listSessions',
    summary: 'List the sessions of a user',
    description: 'On both sites.',
    params: Params,
    response: {
      200: Type.Object(
        { items: Type.Array(Session, { description: 'Most recently used first.' }) },
        { title: 'Sessions', description: 'Where somebody is signed in.' },
      ),
    },
  },
  async handle(context, _caller, request) {
    refuseSandbox(context)
    const { db, clock } = context
    const { id } = await getUserById(db, request.params.id)
    const items = await listSessions(db, id, clock.now())
    return {
      items: items.map(({ firstSeenAt, lastSeenAt, ...rest }) => ({
        ...rest,
        firstSeenAt: firstSeenAt.getTime(),
        lastSeenAt: lastSeenAt.getTime(),
      })),
    }
  },
}

const Ended = Type.Object(
  { ended: integer('How many have ended.', 1, { minimum: 0 }) },
  { title: 'EndedSessions', description: 'What came of it.' },
)

export const endSession: Endpoint<
  Administrator,
  { Params: { readonly id: string; readonly session: number } } & ReasonQuery
> = {
  schema: {
    ...administration,
    operationId: 'endSession',
    summary: 'End a session',
    description: 'Whoever uses it has to sign in again.',
    params: Type.Object({ id: userId, session: numberParam('The number of the session.') }),
    querystring: ReasonQuery,
    response: { 200: Ended },
  },
  async handle(context, caller, request) {
    refuseSandbox(context)
    const { id, session } = request.params
    const act = actFor(caller, request.query)
    const isEnded = await onUser(context.db, act, id, (sql, user) => closeSessionOf(sql, user, session, act))
    if (!isEnded) throw new NotFound(`They have no session ${session}.`)
    return { ended: 1 }
  },
}

export const endSessions: Endpoint<Administrator, OfUser & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'endSessions',
    summary: 'End every session of a user',
    description: 'On both sites.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: Ended },
  },
  async handle(context, caller, request) {
    refuseSandbox(context)
    const act = actFor(caller, request.query)
    const work = (sql: Sql, user: User) => closeEverySession(sql, user, act)
    return { ended: await onUser(context.db, act, request.params.id, work) }
  },
}
