/**
 * A form is a value: what the pages print, what the table of routes takes and what is refused are all of that
 * value. Held against every page that links lead to.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { type Field, questionCharacters, untypedMost } from '../../src/web/frame/field.ts'
import type { FormDefinition } from '../../src/web/frame/form.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { type Answer, Browser, hiddenFields } from '../support/browser.ts'
import { crawl, makeEverything, rowOf } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })

const rows = pageRoutes.filter(({ method }) => method === 'POST')

function definitionOf(path: string): FormDefinition {
  const row = rows.find((each) => each.path === path)
  assert.ok(row?.definition, `${path} has a form`)
  return row.definition
}

let pages: Map<string, Answer>
before(async () => {
  const everybody = await makeEverything(house)
  pages = await crawl(await house.signIn(everybody.user), everybody.starts)
  const guest = ['/login', '/login/forgotten', '/login/password']
  for (const path of guest) pages.set(path, await new Browser(house.baseUrl).get(path))
})

interface PrintedControl {
  readonly where: string
  readonly tag: string
  readonly name: string
  /** Undefined of a question, which is asked by an address. */
  readonly field: Field | undefined
  readonly isSent: boolean
}

/** What every form may have beside its own fields; a password manager looks for the name. */
const ofEvery = ['csrf', 'once', 'username']

function* printedControls(): Generator<PrintedControl> {
  for (const [page, { text }] of pages) {
    for (const [whole, head] of text.matchAll(/<form\b([^>]*)>[\s\S]*?<\/form>/g)) {
      const action = /action="([^"]*)"/.exec(head!)?.[1] ?? page
      const isSent = head!.includes('method="post"')
      const path = rowOf('POST', action)
      for (const [tag] of whole.matchAll(/<(?:input|textarea|select)\b[^>]*>/g)) {
        const name = /\sname="([^"]*)"/.exec(tag)?.[1]
        if (name === undefined) continue
        const field = isSent ? definitionOf(path).fields[name] : undefined
        yield { where: `${page}: ${path} ${name}`, tag, name, field, isSent }
      }
    }
  }
}

test('every field that a page prints is one of its form', () => {
  const controls = [...printedControls()].filter(({ isSent }) => isSent)
  const unknown = controls.filter(({ field, name }) => !field && !ofEvery.includes(name))
  assert.deepEqual([...new Set(unknown.map(({ where }) => where))], [])
  assert.ok(controls.length > 300, `${controls.length} fields`)
})

/** What nobody types into: it is pressed, ticked, chosen or hidden. */
const untyped = /^<select|type="(hidden|checkbox|radio|file|submit)"/
/** Browsers let nothing be typed into these but what they are. */
const ofItsKind = /type="(datetime-local|number|color)"/

test('every field that can be typed into has a length, on the page the same as in its form', () => {
  let seen = 0
  for (const { where, tag, field, isSent } of printedControls()) {
    if (untyped.test(tag)) continue
    seen++
    if (field)
      assert.ok(field.most < untypedMost || /checkedBytes|body/.test(where), `${where} has no length`)
    if (ofItsKind.test(tag)) continue
    const printed = Number(/\smaxlength="(\d+)"/.exec(tag)?.[1])
    if (field) assert.equal(printed, field.most, where)
    else if (!isSent) assert.ok(printed <= questionCharacters, where)
  }
  assert.ok(seen > 100, `${seen} fields`)
})

test('what is printed as a password is a secret of its form, and no page prints the value of one', () => {
  for (const { where, tag, field } of printedControls()) {
    if (!field) continue
    if (tag.includes('type="password"')) assert.equal(field.returns, 'again', where)
    if (field.returns === 'again') assert.doesNotMatch(tag, /\svalue="[^"]/, where)
  }
})

test('no page writes a length, a token or a form of its own', () => {
  const own = globSync('src/web/**/*.ts').flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    // What is tried out in the reference goes from the browser to the interface, and no form is sent.
    if (file.startsWith('src/web/frame/') || file.endsWith('try-it.ts')) return []
    return /maxlength="|name="csrf"|method="post"/.test(text) ? [file] : []
  })
  assert.deepEqual(own, [])
})

test('a form that takes a reason has a field for it, and a field for it means that it takes one', () => {
  for (const { path, gate } of rows) {
    const { reason } = definitionOf(path).fields
    // What may take two people asks for it only where it does.
    const takesReason = gate.proofs.includes('reason')
    if (takesReason) assert.ok(reason?.isRequired, path)
    else if (gate.who === 'operator') assert.ok(!reason?.isRequired, path)
  }
})

test('every form refuses what is longer, before it is looked at', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { csrf } = hiddenFields((await browser.get('/account/api')).text, '/account/api/tokens')
  for (const { path } of rows) {
    const { fields } = definitionOf(path)
    const address = path.replaceAll(/:\w+/g, '1')
    for (const name of [...Object.keys(fields), 'anything']) {
      const most = fields[name]?.most ?? untypedMost
      if (most > 60_000) continue
      const long = await browser.post(
        address,
        { csrf: csrf!, [name]: 'x'.repeat(most + 1) },
        { accept: 'application/json' },
      )
      assert.equal(long.status, path.includes('/receiver/') ? 404 : 400, `${path} ${name}: ${long.status}`)
      if (long.status === 400)
        assert.match(
          long.text,
          new RegExp(`${name} must have at most ${most.toLocaleString('en')} characters`),
          path,
        )
    }
  }
})

test('a line break counts once, as in a browser, which sends two characters for it', async () => {
  const browser = await house.signIn(await house.makeUser())
  const fields = {
    ...hiddenFields((await browser.get('/partner')).text, '/partner/apply'),
    name: 'Lines Ltd',
  }
  const details = { website: 'https://lines.example.com', contact: 'a@lines.example.com' }
  const purpose = 'a line\r\n'.repeat(2_000 / 'a line\n'.length)
  const sent = await browser.post('/partner/apply', { ...fields, ...details, purpose })
  assert.equal(sent.status, 303, sent.text)
})
