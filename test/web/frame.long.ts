/**
 * What stands around every page: whose it is, the first stop of a keyboard, the keys, the moments, the
 * tables.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { houseBrand as brand } from '../../src/vocabulary/brand.ts'
import { withKeys } from '../../src/web/frame/bars.ts'
import { html } from '../../src/web/frame/html.ts'
import { printMoment, table } from '../../src/web/frame/parts.ts'
import type { Answer } from '../support/browser.ts'
import { Browser } from '../support/browser.ts'
import { crawl, makeEverything } from '../support/forms-of-pages.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
let pages: Map<string, Answer>
before(async () => {
  const { user, starts } = await makeEverything(house)
  pages = await crawl(await house.signIn(user), starts)
  pages.set('/login', await new Browser(house.baseUrl).get('/login'))
})

test('every page says whose it is, in its title, above and below, and begins with a way to its content', () => {
  assert.ok(pages.size > 40, String(pages.size))
  for (const [path, { text }] of pages) {
    assert.match(text, new RegExp(`<title>[^<]+ · ${brand.name}</title>`), path)
    assert.match(text, new RegExp(`<a class="brand" href="/"><img [^>]*>${brand.name}</a>`), path)
    assert.match(text, new RegExp(`<footer class="bottom">\\s*<span>${brand.name}</span>`), path)
    assert.match(text, /<body[^>]*>\s*<a class="skip" href="#content">/, path)
    assert.equal(text.split('<main id="content" tabindex="-1"').length, 2, path)
    assert.equal(text.split('<h1').length, 2, `${path} has one heading`)
  }
})

test('every moment names its zone and carries the same in UTC', () => {
  const moments = [...pages.values()].flatMap(({ text }) => [
    ...text.matchAll(/<time\b([^>]*)>([^<]*)<\/time>/g),
  ])
  assert.ok(moments.length > 20, String(moments.length))
  for (const [whole, attributes, words] of moments) {
    assert.match(
      attributes!,
      /datetime="(\d{4}-\d\d-\d\dT[\d:.]+Z)" title="(\1|\d{4}-\d\d-\d\d [\d:]+ UTC)"/,
      whole,
    )
    // How long ago something was is the same in every zone.
    assert.match(words!, / UTC$| ago$|^just now$|^in |^now$/, whole)
  }
})

test('each way on has a key of its own, and the list of keys names it', () => {
  for (const [path, { text }] of pages) {
    const keys = [...text.matchAll(/<a href="[^"]*" data-key="([a-z]?)"/g)].map(([, key]) => key)
    assert.equal(new Set(keys).size, keys.length, path)
    for (const key of keys) assert.ok(text.includes(`<kbd>g</kbd> <kbd>${key}</kbd>`), `${path}: ${key}`)
  }
  assert.deepEqual(
    withKeys(['Overview', 'Old', 'OO'].map((label) => ({ path: '/', label }))).map(({ key }) => key),
    ['o', 'l', ''],
  )
})

test('a cell knows the heading of its column, and a column of moments leaves the zone to each', () => {
  const rows = [
    html`<tr><td class="url">a</td><th scope="row">b</th><td>${printMoment(new Date(0))}</td></tr>`,
  ]
  const { text } = table('Things', ['URL', 'A & B', 'Created (UTC)'], rows)
  assert.match(
    text,
    /<td role="cell" data-label="URL" class="url">a<\/td><th role="rowheader" data-label="A &amp; B"/,
  )
  assert.match(text, /<th role="columnheader" scope="col">Created<\/th>/)
  assert.match(text, /data-label="Created"><time [^>]*>1970-01-01 00:00:00 UTC<\/time>/)
  assert.match(table('Sums', ['From (UTC)'], [html`<tr><td>10:00</td></tr>`]).text, />From \(UTC\)<\/th>/)
})
