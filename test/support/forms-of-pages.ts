/**
 * Every page that links lead to, and the forms on them: read from what is printed, by whoever may see most.
 */

import assert from 'node:assert/strict'
import { addMember } from '../../src/partners/partner.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { ask } from './ask.ts'
import { transaction } from './branch.ts'
import type { Answer, Browser, Fields } from './browser.ts'
import { numberEvents } from './by-hand.ts'
import { makeAdministrator, proposeApproval } from './console.ts'
import type { TestGateway } from './gateway.ts'
import { holdSnapshot } from './imports.ts'
import { openPartner, type PartnerHouse } from './portal.ts'
import { registerUpstream } from './upstream.ts'
import { openConsent } from './web.ts'

/** Somebody who is everything: a holder with a connected application, a member of a partner, an operator. */
export interface Everybody {
  readonly user: User
  readonly own: PartnerHouse
  /** Pages that no link leads to. */
  readonly starts: readonly string[]
}

/** With one of each thing that a page can show a form for. */
export async function makeEverything(house: TestGateway): Promise<Everybody> {
  const { db } = house.gateway.context
  const own = await openPartner(house)
  await makeAdministrator(house, own.user)
  await house.makeOperator('Vera Viewer', ['viewer'])
  await proposeApproval(house, own.user)
  await proposeApproval(house, await house.makeOperator('Mary Maker'))
  await registerUpstream(house, { issuer: 'https://127.0.0.1:9/every' }, 'every')
  await holdSnapshot(house)
  const holder = await house.makeUser()
  const consent = await openConsent(await house.signIn(holder), own.client)
  assert.equal(consent.status, 200)
  await addMember(db, await house.makePartner({ refresh: false }), own.user, house.act())
  // Of others: nobody manages a partner of their own.
  const { branchId: managed } = await house.makeClient()
  await addMember(db, own.partner, await house.makeUser(), house.act(), 'developer')
  await own.program.register('https://active.example.com/hook')
  await own.browser.submit(await own.browser.get(`${own.home}/clients`), `${own.home}/clients/create`, {
    name: 'Modest',
    callback: 'https://modest.example.com/callback',
    scope: 'read',
  })
  const paused = await own.program.register('https://paused.example.com/hook')
  const press = async (page: string, action: string) =>
    own.browser.submit(await own.browser.get(own.home + page), own.home + action, {})
  await press(`/webhooks/${paused}`, `/webhooks/${paused}/pause`)
  await insertEvents(
    db,
    [
      {
        environment: 'live',
        branchId: own.partner.branchId,
        kind: 'TRANSACTION',
        action: 'SUBMITTED',
        entity: 'transaction:42',
        body: JSON.stringify(transaction()),
        simulated: false,
      },
    ],
    house.clock.now(),
  )
  await numberEvents(house)
  const applicant = await house.signIn(await house.makeUser())
  await applicant.submit(await applicant.get('/partner'), '/partner/apply', {
    name: 'Applicant Ltd',
    website: 'https://applicant.example.com',
    contact: 'a@applicant.example.com',
    purpose: 'something',
  })
  await setUserStatus(db, await house.makeUser('locked-out'), 'disabled', house.act())
  // Whoever has an address can be sent a link.
  await ask(db, `UPDATE users SET email = id || '@example.com' WHERE email IS NULL AND role = 'holder'`)
  const starts = ['/account', '/partner', own.home, '/console', '/account/security/email']
  const others = [`/console/users/${holder.id}`, `/console/partners/${managed}`]
  return { user: own.user, own, starts: [...starts, ...others] }
}

/** A control that somebody types into or chooses from. */
export interface Control {
  readonly name: string
  readonly kind: 'text' | 'box' | 'choice'
  readonly isSecret: boolean
  /** Of a box, its value; of a choice, what can be chosen. */
  readonly values: readonly string[]
  /** As it stands. */
  readonly now: string | boolean
}

export interface PrintedForm {
  /** The page that it is on. */
  readonly page: string
  /** The row of the table that takes it. */
  readonly row: string
  readonly action: string
  readonly hidden: Record<string, string>
  readonly controls: readonly Control[]
}

const plain = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
const attribute = (tag: string, name: string) => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return found === undefined ? undefined : plain(found)
}
const has = (tag: string, flag: string) => new RegExp(`\\s${flag}(?=[\\s>])`).test(tag)

export function formsOf(page: string, { text }: Answer): PrintedForm[] {
  return [...text.matchAll(/<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g)].map(([form]) => {
    const action = attribute(form, 'action')!
    const inputs = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag)
    const hidden = inputs.filter((tag) => attribute(tag, 'type') === 'hidden')
    const row = rowOf('POST', action)
    return {
      page,
      action,
      row,
      hidden: Object.fromEntries(
        hidden.map((tag) => [attribute(tag, 'name')!, attribute(tag, 'value') ?? '']),
      ),
      controls: controlsOf(form, secretsOf(row)),
    }
  })
}

/** The fields that are typed again, each time. */
function secretsOf(path: string): string[] {
  const row = pageRoutes.find((each) => each.method === 'POST' && each.path === path)
  return Object.entries(row?.definition?.fields ?? {})
    .filter(([, { returns }]) => returns === 'again')
    .map(([name]) => name)
}

function controlsOf(form: string, secrets: readonly string[]): Control[] {
  const pattern = /<(input|textarea|select)\b[^>]*>(?:([\s\S]*?)<\/(?:textarea|select)>)?/g
  return [
    ...form.matchAll(
      /<input\b[^>]*>|<textarea\b[^>]*>[\s\S]*?<\/textarea>|<select\b[^>]*>[\s\S]*?<\/select>/g,
    ),
  ]
    .map(([whole]) => [...whole.matchAll(pattern)][0]!)
    .filter(([whole]) => attribute(whole.slice(0, whole.indexOf('>') + 1), 'type') !== 'hidden')
    .map(([whole, element, inner = '']) =>
      readControl(element!, whole.slice(0, whole.indexOf('>') + 1), inner, secrets),
    )
}

function readControl(element: string, tag: string, inner: string, secrets: readonly string[]): Control {
  const name = attribute(tag, 'name') ?? ''
  const type = attribute(tag, 'type')
  const common = { name, isSecret: secrets.includes(name) }
  if (type === 'checkbox' || type === 'radio')
    return { ...common, kind: 'box', values: [attribute(tag, 'value') ?? 'on'], now: has(tag, 'checked') }
  if (element === 'textarea') return { ...common, kind: 'text', values: [], now: plain(inner) }
  if (element === 'input') return { ...common, kind: 'text', values: [], now: attribute(tag, 'value') ?? '' }
  const options = [...inner.matchAll(/<option\b[^>]*>/g)].map(([option]) => option)
  const chosen = options.find((option) => has(option, 'selected')) ?? options[0]!
  return {
    ...common,
    kind: 'choice',
    values: options.map((each) => attribute(each, 'value')!),
    now: attribute(chosen, 'value')!,
  }
}

/** Something else than what stands there, in each field. */
export function typeInto({ controls }: PrintedForm): Fields {
  const sent: Record<string, string[]> = {}
  for (const control of controls) {
    const value = newValueOf(control)
    if (value !== undefined) sent[control.name] = [...(sent[control.name] ?? []), value]
  }
  return sent
}

function newValueOf({ name, kind, now, values, isSecret }: Control): string | undefined {
  if (isSecret) return 'a secret that nobody keeps'
  if (kind === 'text') return `typed "${name}" & <more>`
  if (kind === 'box') return now ? undefined : values[0]
  return values.findLast((value) => value !== now) ?? values[0]
}

/** What stands in the form, as it would be sent. */
export function standsIn({ controls }: PrintedForm): Fields {
  const sent: Record<string, string[]> = {}
  for (const { name, kind, now, values, isSecret } of controls) {
    if (isSecret || now === false) continue
    sent[name] = [...(sent[name] ?? []), kind === 'box' ? values[0]! : String(now)]
  }
  return sent
}

/** Those with fewer parameters first. */
const rows = pageRoutes
  .map(({ method, path }) => ({ method, path, pattern: path.split('/') }))
  .sort((one, other) => one.path.split(':').length - other.path.split(':').length)

/** The row of the table that answers at this address. */
export function rowOf(method: 'GET' | 'POST', address: string): string {
  const words = address.split('?')[0]!.split('/')
  const fits = ({ pattern }: { pattern: readonly string[] }) =>
    pattern.length === words.length && pattern.every((word, at) => word.startsWith(':') || word === words[at])
  return rows.find((row) => row.method === method && fits(row))?.path ?? address
}

const pagesARow = 4

/** Follows links, a few pages of each row. */
export async function crawl(browser: Browser, starts: readonly string[]): Promise<Map<string, Answer>> {
  const seen = new Map<string, Answer>()
  const counts = new Map<string, number>()
  const ahead = [...starts]
  for (let path = ahead.shift(); path !== undefined; path = ahead.shift()) {
    if (seen.has(path)) continue
    const row = rowOf('GET', path)
    const count = counts.get(row) ?? 0
    if (count >= pagesARow) continue
    counts.set(row, count + 1)
    const answer = await browser.get(path)
    if (answer.status === 303) ahead.push(answer.location!)
    if (answer.status !== 200 || !String(answer.headers['content-type']).startsWith('text/html')) continue
    seen.set(path, answer)
    const links = [...answer.text.matchAll(/<a\b[^>]*href="(\/[^"#]*)"/g)].map(([, href]) => plain(href!))
    ahead.push(...links.filter((link) => /^\/(account|partner|console)\b/.test(link)))
  }
  return seen
}
