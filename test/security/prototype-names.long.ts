/**
 * Text from outside is looked up in many tables. Names that every object inherits are in none of them: they
 * are sent here in the place of every word that a field, a query or a body takes, to every endpoint of the
 * document and to every form and list that pages lead to.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { addMember } from '../../src/partners/partner.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { type Answer, type Browser, type Fields, hiddenFields, send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { deliverOne, openPartner } from '../support/portal.ts'
import { openReceiver } from '../support/receiver.ts'

const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty']

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
await deliverOne(own, receiver)

const notOurFault = ({ status, text }: Answer, what: string) =>
  assert.ok(status < 500, `${what}: ${status} ${text}`)

interface Schema {
  readonly $ref?: string
  readonly properties?: Record<string, Schema>
  readonly items?: Schema
  readonly anyOf?: Schema[]
  readonly oneOf?: Schema[]
}
interface Operation {
  readonly parameters?: readonly { name: string; in: string }[]
  readonly requestBody?: { content: Record<string, { schema: Schema }> }
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>
}

/** Every name of a field, however deep it stands. */
function fieldsOf(document: Document, schema: Schema): string[] {
  const { $ref, properties = {}, items, anyOf = [], oneOf = [] } = schema
  if ($ref !== undefined) {
    const found = $ref
      .split('/')
      .slice(1)
      .reduce((at, name) => (at as Record<string, unknown>)[name], document as unknown)
    return fieldsOf(document, found as Schema)
  }
  const inside = [...Object.values(properties), ...(items ? [items] : []), ...anyOf, ...oneOf]
  return [...Object.keys(properties), ...inside.flatMap((each) => fieldsOf(document, each))]
}

/** The word as the value, as the only member of a list, as a name; and among what is otherwise good. */
function bodiesWith(word: string, fields: readonly string[]): string[] {
  const good = JSON.stringify(transaction()).slice(1, -1)
  const named = fields.flatMap((field) => [
    `"${field}":"${word}"`,
    `"${field}":["${word}"]`,
    `"${field}":{"${word}":1}`,
  ])
  return [...named, `"${word}":"x"`, `"${word}":{}`].flatMap((member) => [
    `{${member}}`,
    `{${good},${member}}`,
  ])
}

test('no endpoint looks a name up that every object has, wherever it is sent', async () => {
  const document = (await send(`${house.baseUrl}/openapi.json`)).json<Document & Record<string, unknown>>()
  const { client } = await openBranch(house, { client: own.client }).then(() => own)
  const authorizations = [basic(client), { authorization: `Bearer ${await house.makeToken(own.user)}` }]
  let sent = 0
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const url = house.baseUrl + path.replaceAll(/\{\w+\}/g, '1')
      const ask = async (address: string, headers: Record<string, string>, body?: string) => {
        const authorization = authorizations[sent++ % authorizations.length]
        const request = { method: method.toUpperCase() as 'GET', headers: { ...authorization, ...headers } }
        const answer = await send(address, body === undefined ? request : { ...request, body })
        notOurFault(answer, `${method} ${address} ${body}`)
      }
      for (const word of inherited) {
        const queries = [
          ...parameters.filter((each) => each.in === 'query').map(({ name }) => `${name}=${word}`),
          `${word}=x`,
        ]
        for (const query of queries) if (requestBody === undefined) await ask(`${url}?${query}`, {})
        for (const { name } of parameters.filter((each) => each.in === 'header'))
          await ask(url, { [name]: word })
        for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
          const fields = fieldsOf(document, schema)
          const bodies = type.includes('json')
            ? bodiesWith(word, fields)
            : [...fields, word].map((name) => `${name}=${word}`)
          for (const body of bodies) await ask(url, { 'content-type': type }, body)
        }
      }
    }
  assert.ok(sent > 500, `${sent} requests`)
})

interface PageForm {
  readonly page: string
  readonly method: string
  readonly action: string
  readonly fields: readonly string[]
}

const plain = (text: string) => text.replaceAll('&amp;', '&')

function formsOf(page: string, text: string): PageForm[] {
  return [...text.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, head, inside]) => ({
    page,
    method: /method="(\w+)"/i.exec(head!)?.[1]?.toLowerCase() ?? 'get',
    action: plain(/action="([^"]*)"/.exec(head!)?.[1] ?? page),
    fields: [...new Set([...inside!.matchAll(/ name="([^"]+)"/g)].map((match) => match[1]!))],
  }))
}

/** Every page that pages lead to, with its forms: one of each kind, whatever numbers its address holds. */
async function walk(browser: Browser, starts: readonly string[]): Promise<PageForm[]> {
  const kindOf = (address: string) =>
    address.replaceAll(/\d+|id-\w+|[A-Za-z0-9]{24}/g, ':id').replace(/=[^&]*/g, '=')
  const forms = new Map<string, PageForm>()
  const seen = new Set<string>()
  const waiting = [...starts]
  for (let page = waiting.shift(); page !== undefined; page = waiting.shift()) {
    if (seen.has(kindOf(page))) continue
    seen.add(kindOf(page))
    const answer = await browser.get(page)
    notOurFault(answer, page)
    for (const form of formsOf(page, answer.text)) forms.set(`${form.method} ${kindOf(form.action)}`, form)
    const links = [...answer.text.matchAll(/ href="(\/[^"#]*)"/g)].map((match) => plain(match[1]!))
    waiting.push(...links.filter((link) => /^\/(account|partner|console)\b/.test(link)))
  }
  return [...forms.values()]
}

/** These end what the others need. */
const farewells = /^\/logout$|\/delete$|\/close\/all$/

async function tryForm(browser: Browser, { page, method, action, fields }: PageForm): Promise<number> {
  const typed = fields.filter((name) => name !== 'csrf' && name !== 'once')
  for (const name of typed)
    for (const word of inherited) {
      if (method === 'get') {
        notOurFault(
          await browser.get(`${action.split('?')[0]}?${new URLSearchParams({ [name]: word })}`),
          `${action} ${name}=${word}`,
        )
        continue
      }
      const fresh = await browser.get(page)
      const shown = fresh.text.includes(`action="${action}"`) ? hiddenFields(fresh.text, action) : {}
      const sent: Fields = { ...shown, [name]: word }
      notOurFault(await browser.post(action, sent), `${action} ${JSON.stringify(sent)}`)
    }
  return typed.length
}

test('no page and no form looks a name up that every object has', async () => {
  const { db } = house.gateway.context
  const member = await house.makeOperator()
  await addMember(db, own.partner, member, house.act())
  await house.approve(own.client, await house.signIn(member))
  const browser = await house.signIn(member)
  const forms = await walk(browser, [
    '/account',
    own.home,
    `${own.home}/clients/${own.client.id}`,
    '/console',
    '/console/partners',
  ])
  let fields = 0
  for (const form of forms.filter(({ action }) => !farewells.test(action)))
    fields += await tryForm(browser, form)
  assert.ok(forms.length > 25 && fields > 50, `${forms.length} forms, ${fields} fields`)
  const queries = [
    'kind',
    'state',
    'status',
    'done',
    'period',
    'format',
    'environment',
    'return',
    'request',
    'before',
    'after',
  ]
  const pages = [...new Set(forms.map(({ page }) => page.split('?')[0]!)), '/login', '/console/audit/export']
  for (const page of pages)
    for (const word of inherited)
      for (const name of [...queries, word])
        notOurFault(await browser.get(`${page}?${name}=${word}`), `${page}?${name}=${word}`)
})

test('a table of ours that any text may be looked up in is a Map', () => {
  const folder = new URL('../../src/', import.meta.url)
  const files = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const open = files.filter((name) =>
    /^(export )?const \w+: (Readonly<)?Record<string,/m.test(readFileSync(new URL(name, folder), 'utf8')),
  )
  assert.deepEqual(open, [])
})
