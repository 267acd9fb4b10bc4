/**
 * The pages of a sign-in at the brokerage's identity provider: the way there, the way back, and what is said
 * when it does not lead in.
 */
import type { FastifyReply } from 'fastify'
import { recordAct } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import { ProviderFault } from '../../identity/claims.ts'
import { comeBack, ProviderRefusal, type SignInDemands, setOut } from '../../identity/journey.ts'
import { findProvider, type Provider } from '../../identity/provider.ts'
import { signInVouched } from '../../identity/sign-in.ts'
import { ProviderAway } from '../../identity/upstream.ts'
import { NotFound } from '../../problem.ts'
import { cut } from '../../text/cut.ts'
import { ensureVisit, readCookie } from '../frame/cookies.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate, sendPage } from '../frame/page.ts'
import { paramsOf, type Visit } from '../frame/visit.ts'
import { actOf, formsOfGuest } from '../frame/visitor.ts'
import {
  type Destination,
  getDestination,
  parseDestination,
  printCancel,
  printOnward,
} from './destination.ts'
import { letIn, originOf } from './let-in.ts'
import { goOnToSecondStep } from './second-step.ts'
import { askOf } from './ways.ts'

export async function setOutTo(visit: Visit) {
  const { context, query } = visit
  const provider = await getProviderOf(visit)
  const destination = await parseDestination(context, query)
  return leadToProvider(
    visit,
    provider,
    destination,
    askOf(query, destination, provider, context.clock.now()),
  )
}

async function getProviderOf({ context, request }: Visit): Promise<Provider> {
  const provider = await findProvider(context.db, paramsOf(request).provider ?? '')
  if (!provider || !isWay(context, provider)) throw new NotFound()
  return provider
}

const isWay = ({ config }: Context, { kind }: Provider) =>
  kind === 'staff' || config.signIn.holderSignIn !== 'password'

const redirectUri = ({ baseUrl }: Context, { name }: Provider) => `${baseUrl}/login/from/${name}`

export async function leadToProvider(
  visit: Visit,
  provider: Provider,
  destination: Destination,
  asked: SignInDemands,
) {
  const { context, request, reply } = visit
  await context.providerSignIns.countFrom(request.ip)
  const browser = ensureVisit(context, request, reply)
  const place = { redirectUri: redirectUri(context, provider), browser, now: context.clock.now() }
  try {
    const address = await setOut(context, provider, { asked, onward: destination.onward }, place)
    return leadOn(visit, provider, destination, address)
  } catch (error) {
    if (error instanceof ProviderAway) return sendAway(visit, error, destination)
    if (!(error instanceof ProviderRefusal || error instanceof ProviderFault)) throw error
    return sendUnfit(visit, provider, destination, error)
  }
}

function recordRefusal({ context, request }: Visit, { name }: Provider, why: string): Promise<void> {
  return recordAct(context.db, actOf(context, request), 'identity.refused', `provider:${name}`, {
    why: cut(why, 300),
  })
}

/**
 * A form that has to wait leads here, and no page of ours lets a form lead to another site (form-action): so
 * one that is not on the way to an application is led on by a page. A visitor without a session has sent no
 * form.
 */
function leadOn(
  { context, request, reply }: Visit,
  { label }: Provider,
  destination: Destination,
  address: URL,
) {
  const isLink = destination.pending !== undefined || readCookie(context, request, 'session') === undefined
  if (isLink) return reply.redirect(address.href, 303)
  reply.header('refresh', `0; url=${address.href}`)
  return sendPage(reply, {
    title: `Continue to ${label}`,
    environment: context.environment,
    body: html`<section class="card narrow">
<h1>Continue to ${label}</h1>
<p>You sign in at ${label}, and come back to where you were. What you entered is kept meanwhile.</p>
<p><a class="button primary" href="${address.href}">Continue to ${label}</a></p>
</section>`,
  })
}

export async function comeBackFrom(visit: Visit) {
  const { context, request } = visit
  const provider = await getProviderOf(visit)
  const browser = readCookie(context, request, 'visit') ?? ''
  const url = new URL(request.url, context.baseUrl)
  const place = { redirectUri: redirectUri(context, provider), browser, now: context.clock.now() }
  const back = await comeBack(context, provider, url, place).catch((error: unknown) => {
    if (error instanceof ProviderAway) return { kind: 'away', error } as const
    if (error instanceof ProviderFault) return { kind: 'mistaken', error } as const
    throw error
  })
  if (back.kind === 'lost') return sendLost(visit, provider)
  if (back.kind === 'away') return sendAway(visit, back.error, await getDestination(context, {}))
  if (back.kind === 'mistaken')
    return sendUnfit(visit, provider, await getDestination(context, {}), back.error)
  const destination = await getDestination(context, back.journey.onward)
  if (back.kind === 'vouched') return finish(visit, provider, back, destination)
  request.refusal = { code: 'access_denied' }
  if (back.kind === 'declined') return sendDeclined(visit, provider, destination, back.code)
  await recordRefusal(visit, provider, back.why)
  return sendNotBelieved(visit, provider, destination, back.journey.asked)
}

type VerifiedReturn = Extract<Awaited<ReturnType<typeof comeBack>>, { kind: 'vouched' }>

async function finish(
  visit: Visit,
  provider: Provider,
  { vouched, journey }: VerifiedReturn,
  destination: Destination,
) {
  const { context, request, reply } = visit
  const from = await originOf(context, request)
  const act = actOf(context, request)
  const outcome = await signInVouched(context, provider, { vouched, asked: journey.asked }, from, act)
  switch (outcome.kind) {
    case 'half-way':
      return goOnToSecondStep(context, reply, outcome.step, destination)
    case 'signed-in':
      return letIn(visit, outcome, destination)
    default:
      request.refusal = { code: 'access_denied' }
      return sendNotLetIn(visit, provider, destination, outcome.kind)
  }
}

interface MessagePage {
  readonly title: string
  readonly status: number
  readonly text: Html
  /** Where it would begin again. */
  readonly again: Html | undefined
}

function sendTold(visit: Visit, destination: Destination | undefined, message: MessagePage): FastifyReply {
  const { context, request, reply } = visit
  const { pending, onward } = destination ?? {}
  return sendPage(reply, {
    title: message.title,
    environment: context.environment,
    status: message.status,
    leadsOn: pending !== undefined,
    body: html`<section class="card narrow">
<h1>${message.title}</h1>
${message.text}
${message.again}
${pending && onward && printCancel(formsOfGuest(visit), onward, pending)}
<p class="small">If you ask for help, mention the reference <code>${request.id}</code>.</p>
</section>`,
  })
}

function linkAgain({ name, label }: Provider, destination: Destination, confirm = ''): Html {
  return html`<p><a class="button" href="/login/with/${name}?${printOnward(destination)}${confirm}">Try again with
    ${label}</a></p>`
}

/**
 * A user whom the provider remembers under another name would come back as the same stranger, however often
 * they try.
 */
function linkOther({ name }: Provider, destination: Destination): Html {
  const words = `${printOnward(destination)}&other=1`
  return html`<p><a class="button primary" href="/login/with/${name}?${words}">Use another account</a></p>`
}

const retryAfterSeconds = 30

function sendAway(visit: Visit, { provider, since }: ProviderAway, destination: Destination): FastifyReply {
  visit.reply.header('retry-after', String(retryAfterSeconds))
  return sendTold(visit, destination, {
    title: `${provider.label} is not available`,
    status: 503,
    text: html`<p>You sign in at
      <strong>${provider.label}</strong>, which has not answered since ${printDate(since)}.
      Whoever is signed in already, and every application that you allowed, goes on as before.</p>`,
    again: linkAgain(provider, destination),
  })
}

/** The user cannot help it: the log says to an operator what is wrong. */
async function sendUnfit(
  visit: Visit,
  provider: Provider,
  destination: Destination,
  error: ProviderRefusal | ProviderFault,
): Promise<FastifyReply> {
  await recordRefusal(visit, provider, error.message)
  const how =
    error instanceof ProviderFault
      ? 'does not describe itself in a way that this site can use'
      : 'does not let this site ask for that'
  return sendTold(visit, destination, {
    title: `${provider.label} is not available`,
    status: 503,
    text: html`<p>You sign in at <strong>${provider.label}</strong>, which ${how} at the moment.
      The brokerage can see why, and has to fix it. Whoever is signed in already,
      and every application that you allowed, goes on as before.</p>`,
    again: linkAgain(provider, destination),
  })
}

function sendLost(visit: Visit, { label }: Provider): FastifyReply {
  return sendTold(visit, undefined, {
    title: 'This sign-in cannot be finished here',
    status: 400,
    text: html`<p>It was begun in another browser or more than a quarter of an hour ago,
      or it has been finished already. Nothing was lost: begin again, and ${label} will remember you.</p>`,
    again: html`<p><a class="button" href="/login">Sign in</a></p>`,
  })
}

function sendDeclined(
  visit: Visit,
  provider: Provider,
  destination: Destination,
  code: string,
): FastifyReply {
  return sendTold(visit, destination, {
    title: 'You did not sign in',
    status: 403,
    text: html`<p><strong>${provider.label}</strong> sent you back without a sign-in
      (<code>${code}</code>).</p>`,
    again: linkAgain(provider, destination),
  })
}

function sendNotBelieved(
  visit: Visit,
  provider: Provider,
  destination: Destination,
  asked: SignInDemands,
): FastifyReply {
  const { label } = provider
  const isLate = asked.maxAgeSeconds !== undefined
  return sendTold(visit, destination, {
    title: 'This sign-in was not accepted',
    status: 403,
    text: html`<p>What <strong>${label}</strong> says of your sign-in could not be
      verified${isLate && ', or it did not ask you to sign in once more'}. You are not signed in by it,
      and the brokerage can see why.</p>`,
    again: linkAgain(provider, destination, isLate ? '&confirm=1' : ''),
  })
}

function sendNotLetIn(
  visit: Visit,
  provider: Provider,
  destination: Destination,
  why: 'unknown' | 'locked' | 'too-weak',
): FastifyReply {
  const { label, kind } = provider
  const tellings: Record<typeof why, Omit<MessagePage, 'status' | 'again'>> = {
    unknown: {
      title: 'We do not know you yet',
      text: html`<p>You signed in at
        <strong>${label}</strong>,
        but ${kind === 'staff' ? 'you have no role here. Ask an administrator for one.' : 'no customer here belongs to that sign-in. A new customer can take a while to appear. If you have been one for longer, contact the brokerage.'}</p>`,
    },
    locked: {
      title: 'Your access is locked',
      text: html`<p>The brokerage has locked your access. Ask it why.</p>`,
    },
    'too-weak': {
      title: 'A second factor is needed',
      text: html`<p>What comes next takes a sign-in with a second factor, and
        <strong>${label}</strong> did not say that you gave one. Set one up there, then try again.</p>`,
    },
  }
  const offers = {
    unknown: html`${linkOther(provider, destination)}${linkAgain(provider, destination)}`,
    locked: undefined,
    'too-weak': linkAgain(provider, destination, '&confirm=factor'),
  }
  const again = offers[why]
  return sendTold(visit, destination, { ...tellings[why], status: 403, again })
}
