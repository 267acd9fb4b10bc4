/** The operator's search, of all partners and both sites: every kind is a row of `search-kinds.ts`. */
import { answerSearch, findGroups } from '../../frame/search.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { consoleKinds } from './search-kinds.ts'

const hint =
  'Look for a person by name, username, e-mail address or account number; a partner, a client or a webhook by name, id or address; an event (evt_…), a delivery such as 12-345, an entity such as transaction:42, or a request id.'

export function showSearch(visit: Visit, operator: Operator) {
  const kinds = consoleKinds.filter(({ permission }) => operator.may(permission))
  const find = (sought: string) => findGroups(kinds, visit.context, sought, operator)
  return answerSearch(visit, hint, find, (body) =>
    sendConsole(visit, operator, { title: 'Search', section: '/console/search', body }),
  )
}
