/**
 * What an operator does to a partner's client: stops it, lets it go on, and says what it may ask for at most.
 */
import {
  type Client,
  getClient,
  parseClientScopes,
  setClientStatus,
  setScopesRequired,
} from '../../../partners/client.ts'
import type { Partner } from '../../../partners/partner.ts'
import { declineScopeRequest, findOpenScopeRequest } from '../../../partners/scope-request.ts'
import { Invalid, NotFound } from '../../../problem.ts'
import { scopes, union } from '../../../vocabulary/scope.ts'
import type { Submission } from '../../frame/form.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import type { StrongOperator } from '../../gates/gates.ts'
import { actOrPropose, takesTwo } from '../frame/four-eyes.ts'
import type * as forms from './forms.ts'
import { back, partnerOf } from './partner.ts'

export function suspendClient(visit: Visit, operator: StrongOperator) {
  return setStatus(visit, operator, 'suspended')
}

export function activateClient(visit: Visit, operator: StrongOperator) {
  return setStatus(visit, operator, 'active')
}

async function setStatus(visit: Visit, operator: StrongOperator, status: Client['status']) {
  const { db } = visit.context
  const { partner, client } = await clientOf(visit)
  if (client.status !== status) {
    await setClientStatus(db, client, status, operator.act)
  }
  if (status === 'active') return back(visit, operator, partner, 'client-activated')
  return back(visit, operator, partner, 'client-suspended', {
    undo: { action: `${pathOf(client)}/activate` },
  })
}

/** Narrower takes one person, wider may take two. */
export async function setMost(
  visit: Visit,
  operator: StrongOperator,
  { values: { scope, reason } }: Submission<typeof forms.setScopes>,
) {
  const { partner, client } = await clientOf(visit)
  const atMost = parseClientScopes(scope.join(' '))
  if ('field' in atMost) throw new Invalid([atMost])
  const values = { branchId: partner.branchId, clientId: client.id, atMost }
  const undo = { action: `${pathOf(client)}/scopes`, fields: { scope: client.scopesAtMost } }
  const canUndo = !takesTwo(visit, 'partner.widen-scopes')
  return actOrPropose(visit, operator, { kind: 'partner.widen-scopes', values, reason }, () =>
    back(visit, operator, partner, 'scopes-set', canUndo ? { undo } : {}),
  )
}

export async function setRequired(
  visit: Visit,
  operator: StrongOperator,
  { values: { required } }: Submission<typeof forms.setRequired>,
) {
  const { partner, client } = await clientOf(visit)
  const known = scopes.filter((scope) => required.includes(scope))
  await setScopesRequired(visit.context.db, client, known, operator.act)
  const undo = { action: `${pathOf(client)}/required`, fields: { required: client.scopesRequired } }
  return back(visit, operator, partner, 'required-set', { undo })
}

export async function grantScopes(
  visit: Visit,
  operator: StrongOperator,
  { values: { request: requestId, reason, from } }: Submission<typeof forms.grantScopes>,
) {
  const { partner, client } = await clientOf(visit)
  const request = await findOpenScopeRequest(visit.context.db, client.id)
  if (request?.id !== requestId) return back(visit, operator, partner, 'changed', { from })
  const atMost = union(client.scopesAtMost, request.scopes)
  const values = { branchId: partner.branchId, clientId: client.id, atMost, requestId }
  return actOrPropose(visit, operator, { kind: 'partner.widen-scopes', values, reason }, (isDone) =>
    back(visit, operator, partner, isDone ? 'scopes-granted' : 'changed', { from }),
  )
}

export async function declineScopes(
  visit: Visit,
  operator: StrongOperator,
  { values: { request, from } }: Submission<typeof forms.declineScopes>,
) {
  const { partner, client } = await clientOf(visit)
  const isDone = await declineScopeRequest(visit.context.db, client, request, operator.act)
  return back(visit, operator, partner, isDone ? 'scopes-declined' : 'changed', { from })
}

function pathOf({ branchId, id }: Client): string {
  return `/console/partners/${branchId}/clients/${id}`
}

export async function clientOf(visit: Visit): Promise<{ partner: Partner; client: Client }> {
  const partner = await partnerOf(visit)
  const client = await getClient(visit.context.db, paramsOf(visit.request).client ?? '')
  if (client.branchId !== partner.branchId) throw new NotFound()
  return { partner, client }
}
