/** Who may enter: a signed-in member. What belongs to a partner of others does not exist for the visitor. */
import type { Context } from '../../context.ts'
import { alwaysInDoubt } from '../../http/standing.ts'
import { listPartnersOf, type Partner } from '../../partners/partner.ts'
import { Forbidden, NotFound } from '../../problem.ts'
import type { Branch } from '../../webhooks/webhook.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Gate, signedIn } from '../gates.ts'
import type { Watcher } from '../frame/live.ts'
import { type PageRoute, page } from '../route.ts'
import { type Params, paramsOf, type Visit } from '../frame/visit.ts'
import { currentSession, readSignedForm, requireSignIn, type SignedIn } from '../frame/visitor.ts'

export interface Member extends SignedIn {
  readonly partner: Partner
  readonly branch: Branch
  /** Where the partner's pages begin. */
  readonly home: string
}

type Show = (visit: Visit, member: Member) => Promise<unknown>
type Act = (visit: Visit, member: Member, form: SubmittedForm) => Promise<unknown>

/** A page of an approved partner, for its members. */
export function memberPage(path: string, show: Show): PageRoute {
  return page('GET', path, async (context, request, reply) => {
    const visitor = await requireSignIn(context, request, reply, request.url)
    if (!visitor) return reply
    return show({ context, request, reply }, requireApproved(await getMember(context, visitor, paramsOf(request))))
  })
}

/** A form of an approved partner. Whoever has to sign in first returns to the page that holds it. */
export function memberForm(
  path: string,
  heldBy: (params: Params) => string,
  act: Act,
  ask: Gate = signedIn,
): PageRoute {
  const route = page('POST', path, async (context, request, reply) => {
    const visit = { context, request, reply }
    const params = paramsOf(request)
    const here = `/partner/${params.branch}${heldBy(params)}`
    const visitor = await requireSignIn(context, request, reply, here)
    if (!visitor) return reply
    const form = readSignedForm(request, visitor)
    const member = requireApproved(await getMember(context, visitor, params))
    return (await ask(visit, visitor, here)) ? act(visit, member, form) : reply
  })
  return { ...route, gate: ask }
}

export async function getMember(context: Context, visitor: SignedIn, { branch }: Params): Promise<Member> {
  const partners = await listPartnersOf(context.db, visitor.session.user.id)
  const partner = partners.find((each) => String(each.branch_id) === branch)
  if (!partner) throw new NotFound()
  const { branch_id: branchId } = partner
  return { ...visitor, partner, branch: { branchId, environment: context.environment }, home: `/partner/${branchId}` }
}

export function requireApproved(member: Member): Member {
  const { status, name, status_reason } = member.partner
  if (status === 'applied') throw new Forbidden(`The application of ${name} has not been decided yet.`)
  if (status === 'suspended') throw new Forbidden(`${name} is suspended: ${status_reason ?? 'no reason was given'}`)
  return member
}

/** Whoever signed out, was removed, or whose partner was suspended, sees no more. */
export function watcherOf({ context, request }: Visit, { partner }: Member): Watcher {
  return {
    place: `portal ${context.environment} ${partner.branch_id}`,
    async judge() {
      const session = await currentSession(context, request, false)
      if (!session) return undefined
      const partners = await listPartnersOf(context.db, session.user.id)
      if (!partners.some((each) => each.branch_id === partner.branch_id && each.status === 'approved')) return undefined
      const tags = [`session:${session.id}`, `user:${session.user.id}`, `branch:${partner.branch_id}`]
      return { tags, soundUntilMs: alwaysInDoubt }
    },
  }
}
