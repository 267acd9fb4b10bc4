/** What account holders approved on this site: looked at, paused and ended. Its owner alone resumes it. */
import { whileStanding } from '../../administration/standing.ts'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import type { Sql } from '../../database/database.ts'
import {
  type Authorization,
  getAuthorization,
  pageAuthorizations,
  revokeAuthorization,
  setAuthorizationPaused,
} from '../../oauth/authorization.ts'
import { Invalid } from '../../problem.ts'
import { refuseActingOn } from '../../users/staff-role.ts'
import { getUserById } from '../../users/user.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { scopes } from '../../vocabulary/scope.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import {
  actFor,
  administration,
  instantOrNull,
  limit,
  mayOf,
  NumberCursor,
  nextPage,
  numberParam,
  type Paged,
  printPage,
  ReasonQuery,
  readPage,
} from './frame.ts'

const Approval = Type.Object(
  {
    id: integer('Its number.', 7),
    user: text('Whose it is: the id of a user.', 'id-k3jf8s2a1f0z'),
    client: text('To which client: its id.', 'app_k3jf8s2a'),
    clientName: text('What that is called.', 'Acme Portfolio'),
    scopes: Type.Array(oneOf(scopes), { description: 'What it is good for now.' }),
    accounts: Type.Array(Type.String(), {
      description: 'The numbers of the accounts that it reaches now.',
      examples: [['6YA20001']],
    }),
    lasting: Type.Boolean({ description: 'Whether the client can renew its access without asking again.' }),
    approvedAt: instant('When it was approved first'),
    consentedAt: instant('When its owner said last what stands'),
    lastUsedAt: instantOrNull('When it was used last'),
    pausedAt: instantOrNull('Since when it is paused'),
  },
  { title: 'Approval', description: 'A standing approval of a client by an account holder.' },
)

function printApproval({ id, userId, clientId, clientName, scopes: given, ...rest }: Authorization) {
  const { accountNumbers, lasting, approvedAt, consentedAt, lastUsedAt, pausedAt } = rest
  return {
    ...{ id, user: userId, client: clientId, clientName, scopes: given, accounts: accountNumbers, lasting },
    approvedAt: approvedAt.getTime(),
    consentedAt: consentedAt.getTime(),
    lastUsedAt: lastUsedAt?.getTime() ?? null,
    pausedAt: pausedAt?.getTime() ?? null,
  }
}

const word = { minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9_-]+$' }

interface ApprovalQuery extends Paged {
  readonly user?: string
  readonly client?: string
}

export const listAuthorizations: Endpoint<Administrator, { Querystring: ApprovalQuery }> = {
  schema: {
    ...administration,
    operationId: 'listAuthorizations',
    summary: 'List authorizations',
    description: 'Those that stand, of a user, of a client, or of both: one of them is given. Newest first.',
    querystring: Type.Object(
      {
        cursor: NumberCursor,
        limit,
        user: Type.Optional(text('Whose: the id of a user.', 'id-k3jf8s2a1f0z', word)),
        client: Type.Optional(text('To which client: its id.', 'app_k3jf8s2a', word)),
      },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object(
        { items: Type.Array(Approval, { description: 'Newest first.' }), next: nextPage },
        { title: 'ApprovalPage', description: 'Some of them.' },
      ),
    },
  },
  async handle({ db, environment }, _caller, request) {
    const { user: userId, client: clientId } = request.query
    if (userId === undefined && clientId === undefined)
      throw new Invalid([{ field: 'user', problem: 'or client is missing: say whose, or to which client' }])
    const { before, most } = readPage(request.query)
    const found = await pageAuthorizations(db, { userId, clientId, environment, before }, most + 1)
    return printPage(found, most, printApproval)
  },
}

const Params = Type.Object({ id: numberParam('The number of the authorization.') })
type OfAuthorization = { Params: { readonly id: number } }

export const fetchAuthorization: Endpoint<Administrator, OfAuthorization> = {
  schema: {
    ...administration,
    operationId: 'getAuthorization',
    summary: 'Fetch an authorization',
    description: 'One that stands, on this site.',
    params: Params,
    response: { 200: Approval },
  },
  async handle({ db, environment }, _caller, request) {
    return printApproval(await getAuthorization(db, request.params.id, environment))
  },
}

export const pauseAuthorization: Endpoint<Administrator, OfAuthorization & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'pauseAuthorization',
    summary: 'Pause an authorization',
    description:
      'Its tokens are refused from now on, and none of them is lost: its owner resumes it. A second time it changes nothing.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: Approval },
  },
  handle(context, caller, request) {
    const act = actFor(caller, request.query)
    const { id } = request.params
    return onAuthorization(context, act, id, async (sql, { userId, pausedAt }) => {
      if (pausedAt === null) await setAuthorizationPaused(sql, { id, ownerId: userId, paused: true }, act)
      return printApproval(await getAuthorization(sql, id, context.environment))
    })
  },
}

export const endAuthorization: Endpoint<Administrator, OfAuthorization & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'endAuthorization',
    summary: 'Revoke an authorization',
    description: 'Every code and token that came of it has ended.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: Approval },
  },
  handle(context, caller, request) {
    const act = actFor(caller, request.query)
    return onAuthorization(context, act, request.params.id, async (sql, { id, userId, ...rest }) => {
      await revokeAuthorization(sql, { id, ownerId: userId, reason: 'revoked by the brokerage' }, act)
      return printApproval({ id, userId, ...rest })
    })
  },
}

/** Of a person whom the credential may act on, while it may. */
function onAuthorization<Result>(
  { db, environment }: Context,
  act: Act,
  id: number,
  work: (sql: Sql, authorization: Authorization) => Promise<Result>,
): Promise<Result> {
  return whileStanding(db, 'users.manage', act, async (sql) => {
    const found = await getAuthorization(sql, id, environment)
    const owner = await getUserById(sql, found.userId)
    await refuseActingOn(sql, owner, mayOf(act))
    return work(sql, found)
  })
}
