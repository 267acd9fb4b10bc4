/** The partner's search, of this site: every kind is a row of `search-kinds.ts`. */
import { answerSearch, findGroups } from '../../frame/search.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from './portal.ts'
import { portalKinds } from './search-kinds.ts'

const hint =
  'Look for an event (evt_…), a delivery such as 12-345, an entity such as transaction:42, a request id, a member, a client by name or id, or a webhook by number or address.'

export function showSearch(visit: Visit, member: Member) {
  const find = (sought: string) => findGroups(portalKinds, visit.context, sought, member)
  return answerSearch(visit, hint, find, (body) =>
    sendPortal(visit, member, { title: 'Search', section: '/search', body }),
  )
}
