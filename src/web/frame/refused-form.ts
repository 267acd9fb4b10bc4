/**
 * A form whose act was refused, shown again by the page that holds it: a page of its own for the refusal
 * would lose what was typed.
 */
import { prefersHtml } from '../../http/errors.ts'
import { parseForm, queryOf } from '../../http/form.ts'
import { Problem } from '../../problem.ts'
import { findOwner, StaleForm } from './form-token.ts'
import type { Visit } from './visit.ts'

/**
 * What the user can mend, or send again: wrong values, something else that was done meanwhile, too much in a
 * minute.
 */
const mendable = [400, 409, 429]

export function isMendable(visit: Visit, error: unknown): error is Problem {
  if (!(error instanceof Problem) || !prefersHtml(visit.request)) return false
  return mendable.includes(error.status) || (error instanceof StaleForm && isOwners(visit))
}

/** Whether it was printed for the user who is signed in now: once more, in another tab. */
function isOwners({ context, request }: Visit): boolean {
  const owner = findOwner(context, request)
  return owner !== undefined && owner === request.who?.userId
}

export async function showAgain(
  visit: Visit,
  problem: Problem,
  address: string,
  show: (again: Visit) => Promise<unknown>,
): Promise<unknown> {
  const { request, reply, sent } = visit
  request.refusal = problem
  reply.headers(problem.headers)
  const returned = sent && { ...sent, problem: wordedAnew(problem) }
  const again = { ...visit, address, query: parseForm(queryOf(address)), ...(returned && { returned }) }
  return show(again).catch(() => {
    // The page is not to be seen either.
    throw problem
  })
}

function wordedAnew(problem: Problem): Problem {
  if (!(problem instanceof StaleForm)) return problem
  return new StaleForm(
    'Nothing was sent: you have signed in again since this page was opened. Check and send.',
  )
}
