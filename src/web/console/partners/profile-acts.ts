/** An operator moves a client up to FAPI 2.0 or back, and answers the partner that asks for it. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '../../../partners/client.ts'
import { hasFapi2, type ProfileTerms, termsOf } from '../../../partners/client-profile.ts'
import { declineProfileRequest } from '../../../partners/profile-request.ts'
import { Invalid } from '../../../problem.ts'
import type { Submission, ValuesOf } from '../../frame/form.ts'
import type { Visit } from '../../frame/visit.ts'
import type { StrongOperator } from '../../gates/gates.ts'
import { actOrPropose, takesTwo } from '../frame/four-eyes.ts'
import { clientOf } from './client-acts.ts'
import { fieldsOf } from './client-profile.ts'
import type * as forms from './forms.ts'
import { back } from './partner.ts'

/** Raising takes one person; going back may take two. */
export async function setClientProfile(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.setProfile>,
) {
  const { partner, client } = await clientOf(visit)
  const terms = readTerms(client, values, operator.act.at)
  const before = fieldsOf(client, operator.act.at)
  const undo = { action: `/console/partners/${client.branchId}/clients/${client.id}/profile`, fields: before }
  const canUndo = !takesTwo(visit, 'client.lower-profile')
  const done = () => back(visit, operator, partner, 'profile-set', canUndo ? { undo } : {})
  if (isDeepStrictEqual(terms, termsOf(client))) return done()
  const act = { ...terms, from: terms.from?.toISOString() ?? null }
  const wish = {
    kind: 'client.lower-profile',
    values: { branchId: partner.branchId, clientId: client.id, ...act },
    reason: values.reason,
  } as const
  return actOrPropose(visit, operator, wish, (isDone) =>
    isDone ? done() : back(visit, operator, partner, 'changed'),
  )
}

export async function declineProfile(
  visit: Visit,
  operator: StrongOperator,
  { values: { request, from } }: Submission<typeof forms.declineProfile>,
) {
  const { partner, client } = await clientOf(visit)
  const isDone = await declineProfileRequest(visit.context.db, client, request, operator.act)
  return back(visit, operator, partner, isDone ? 'profile-declined' : 'changed', { from })
}

type ProfileValues = ValuesOf<typeof forms.setProfile.fields>

/** One that has it already keeps its moment. */
function readTerms(client: Client, values: ProfileValues, now: Date): ProfileTerms {
  const { profile, moment, bearers, nonces } = values
  if (
    profile === 'fapi2' &&
    moment !== undefined &&
    moment < now &&
    moment.getTime() !== client.fapi2From?.getTime()
  )
    throw new Invalid([
      { field: 'moment', problem: 'must not lie in the past; leave it empty to switch at once' },
    ])
  const start = moment ?? (hasFapi2(client, now) ? client.fapi2From : now)
  return {
    from: profile === 'standard' ? null : start,
    endsBearers: bearers === 'end',
    demandsDpopNonces: nonces,
  }
}
