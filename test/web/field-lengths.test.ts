/**
 * Everything that somebody types has a length, the same on the page and on the server: from the table of
 * lengths, for every form of the table of routes.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fieldLengths, lengthOf, questionCharacters } from '../../src/web/frame/field-lengths.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { Browser, hiddenFields } from '../support/browser.ts'
import { crawl, makeEverything, rowOf } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })

const forms = pageRoutes.filter(({ method }) => method === 'POST').map(({ path }) => path)

/** What nobody types into: it is pressed, ticked, chosen or hidden. */
const untyped = /type="(hidden|checkbox|radio|file|submit)"/
/** Browsers let nothing be typed into these but what they are. */
const ofItsKind = /type="(datetime-local|number|color)"/

test('every field of every page that can be typed into has the length of the table', async () => {
  const everybody = await makeEverything(house)
  const browser = await house.signIn(everybody.user)
  const pages = await crawl(browser, everybody.starts)
  const guest = ['/login', '/login/forgotten', '/login/password']
  for (const path of guest) pages.set(path, await new Browser(house.baseUrl).get(path))
  let seen = 0
  for (const [page, { text }] of pages) {
    for (const [whole, head] of text.matchAll(/<form\b([^>]*)>[\s\S]*?<\/form>/g)) {
      const action = /action="([^"]*)"/.exec(head!)?.[1] ?? page
      const isSent = head!.includes('method="post"')
      for (const [tag] of whole.matchAll(/<(?:input|textarea)\b[^>]*>/g)) {
        if (untyped.test(tag)) continue
        const name = /\sname="([^"]*)"/.exec(tag)?.[1]
        if (name === undefined) continue
        seen++
        const row = rowOf('POST', action)
        const printed = /\smaxlength="(\d+)"/.exec(tag)?.[1]
        const where = `${page}: ${row} ${name}`
        if (isSent && name !== 'reason')
          assert.ok(lengthOf(row, name) < 16_384 || name === 'body', `${where} is not in the table`)
        if (ofItsKind.test(tag)) continue
        if (isSent) assert.equal(printed, String(lengthOf(row, name)), where)
        else assert.ok(Number(printed) <= questionCharacters, where)
      }
    }
  }
  assert.ok(seen > 100, `${seen} fields`)
})

test('no page writes a length of its own', () => {
  const own = globSync('src/web/**/*.ts').flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    // What is tried out in the reference goes from the browser to the interface, and no form is sent.
    if (file.endsWith('.test.ts') || file.endsWith('try-it.ts')) return []
    return /maxlength="\d|maxLength: \d/.test(text) ? [file] : []
  })
  assert.deepEqual(own, [])
})

test('the table names forms that there are', () => {
  assert.deepEqual(
    Object.keys(fieldLengths).filter((path) => !forms.includes(path)),
    [],
  )
})

test('every form refuses what is longer, before it is looked at', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { csrf } = hiddenFields((await browser.get('/account/api')).text, '/account/api/tokens')
  for (const path of forms) {
    const address = path.replaceAll(/:\w+/g, '1')
    const names = [...Object.keys((fieldLengths as Record<string, object>)[path] ?? {}), 'reason', 'anything']
    for (const name of names) {
      const most = lengthOf(path, name)
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
