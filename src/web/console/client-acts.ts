/** What an operator does to a partner's client: stops it, lets it go on, and says what it may ask for at most. */
import { type Client, getClient, parseClientScopes, setClientStatus, setScopesAtMost } from '../../partners/client.ts'
import type { Partner } from '../../partners/partner.ts'
import { answerScopeRequest } from '../../partners/scope-request.ts'
import { Invalid, NotFound } from '../../problem.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { idOf, paramsOf, type Visit } from '../frame/visit.ts'
import type { StrongOperator } from '../gates.ts'
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
  return back(visit, operator, partner, 'client-suspended', { action: `${pathOf(client)}/activate` })
}

export async function setMost(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const { db } = visit.context
  const { partner, client } = await clientOf(visit)
  const atMost = parseClientScopes(form.all('scope').join(' '))
  if ('field' in atMost) throw new Invalid([atMost])
  await setScopesAtMost(db, client, atMost, operator.act)
  const undo = { action: `${pathOf(client)}/scopes`, fields: { scope: client.scopesAtMost } }
  return back(visit, operator, partner, 'scopes-set', undo)
}

export function grantScopes(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  return answer(visit, operator, form, true)
}

export function declineScopes(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  return answer(visit, operator, form, false)
}

async function answer(visit: Visit, operator: StrongOperator, form: SubmittedForm, granted: boolean) {
  const { db } = visit.context
  const { partner, client } = await clientOf(visit)
  const asked = { id: idOf(form.find('request')), granted }
  if (!(await answerScopeRequest(db, client, asked, operator.act))) return back(visit, operator, partner, 'changed')
  return back(visit, operator, partner, granted ? 'scopes-granted' : 'scopes-declined')
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
