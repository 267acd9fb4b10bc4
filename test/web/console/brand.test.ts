/** The brand of a site: drafted, looked at, put in force and taken back; logos that are attacks. */

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { listBrands } from '../../../src/brands/brand-acts.ts'
import { day, hour } from '../../../src/clock.ts'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { rateLimits } from '../../../src/http/rate-limits.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { drawPng, secondWords, svgLogo } from '../../support/brand.ts'
import { Browser, hiddenFields, send } from '../../support/browser.ts'
import { openConsole, press } from '../../support/console.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse, openTestGateway } from '../../support/gateway.ts'
import { tokenOf } from '../../support/web.ts'

const house = await openHouse()
const admin = await openConsole(house)
const home = '/console/brand/live'
const { db } = house.gateway.context

const words = Object.fromEntries(Object.entries(secondWords).map(([name, value]) => [name, value ?? '']))
const save = (more: Record<string, string> = {}) => press(admin.browser, home, '/save', { ...words, ...more })

async function upload(bytes: Buffer, place = 'logoLight') {
  const csrf = await tokenOf(admin.browser)
  return admin.browser.upload(`${home}/image`, { csrf, place }, { image: bytes })
}

const imagesStored = () => ask<{ hash: string }>(db, 'SELECT hash FROM images')
const titleOf = async (path = '/login') =>
  /<title>[^<]* · ([^<]*)<\/title>/.exec((await new Browser(house.baseUrl).get(path)).text)?.[1]

test('a draft is seen by nobody but in its preview, and from its activation by everybody, on every node at once', async () => {
  const other = await openTestGateway(house.settings)
  try {
    const shown = async (baseUrl: string) => (await new Browser(baseUrl).get('/login')).text
    assert.match(await shown(other.baseUrl), /Countersign/)
    await assertAnswered(admin.browser, await save())
    await assertAnswered(admin.browser, await upload(svgLogo()))
    assert.match(await shown(house.baseUrl), /<title>Sign in · Countersign</)
    const preview = await admin.browser.get(`${home}/preview?page=consent&mode=dark`)
    assert.match(preview.text, /<title>Allow Portfolio\? · Northwind<\/title>/)
    assert.match(preview.text, /colours\/7a1f5c-f09ad0-faf5f8-170f14-dark\.css/)
    const mail = await admin.browser.get(`${home}/preview?page=mail&mode=dark`)
    assert.match(
      String(mail.headers['content-security-policy']),
      /^default-src 'none'; style-src 'unsafe-inline'; img-src 'self';/,
    )
    assert.match(mail.text, /Sent by Northwind at[\s\S]*Northwind Securities Ltd/)
    assert.match(mail.text, /@media all \{ \.paper/)
    assert.doesNotMatch(mail.text, /Countersign/)
    const done = await press(admin.browser, home, '/activate')
    assert.match(await shown(house.baseUrl), /Northwind/, 'whoever activates it sees it with the next page')
    for (const baseUrl of [house.baseUrl, other.baseUrl]) {
      // The other node is told, which takes a moment.
      const page = await eventually(`it is shown at ${baseUrl}`, async () => {
        const text = await shown(baseUrl)
        return text.includes('Northwind') && text
      })
      assert.match(page, /<title>Sign in · Northwind<\/title>/, baseUrl)
      assert.match(
        page,
        /<img src="\/assets\/images\/[0-9a-f]{64}\.svg" alt="Northwind" width="140" height="28">/,
      )
      assert.match(page, /<footer class="bottom">\s*<span>Northwind Securities Ltd<\/span>/)
      assert.match(page, /<a href="tel:\+15550100199">\+1 555 010 0199<\/a>/)
      assert.doesNotMatch(page, /Countersign/)
    }
    assert.match(await shown(house.sandboxUrl), /Countersign/, 'the other site has its own')
    const told = await assertAnswered(admin.browser, done)
    assert.equal(told.undo, `${home}/return`)
    const entries = await findEntries(db, { subject: 'brand:live', action: 'brand' })
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['brand.activated', 'brand.drafted', 'brand.drafted'],
    )
    assert.equal(entries[0]!.actor, `user:${admin.user.id}`)
  } finally {
    await other.close()
  }
})

test('it is read once, and not with every page', async () => {
  await titleOf()
  const { brands } = house.gateway.context
  const first = brands.find('live')
  assert.ok(!(first instanceof Promise), 'it is known without asking')
  await titleOf()
  assert.equal(brands.find('live'), first)
})

test('what a page loads of a brand comes from us, may be kept for ever, and holds colours or a picture', async () => {
  const { text } = await new Browser(house.baseUrl).get('/login')
  const [sheet] = /\/assets\/colours\/[^"]+/.exec(text)!
  const css = await send(house.baseUrl + sheet)
  assert.equal(css.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(css.headers['content-type'], 'text/css; charset=utf-8')
  assert.match(css.text, /^:root \{ --paper: #faf5f8; --card: #ffffff;/)
  const [logo] = /\/assets\/images\/[^"]+/.exec(text)!
  const image = await send(house.baseUrl + logo)
  assert.equal(image.headers['content-type'], 'image/svg+xml')
  assert.equal(image.headers['x-content-type-options'], 'nosniff')
  assert.equal(
    image.headers['content-security-policy'],
    "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  )
  assert.equal(image.headers['cache-control'], 'public, max-age=31536000, immutable')
  const others = [
    logo.replace('.svg', '.png'),
    logo.replace(/[0-9a-f]{64}/, '0'.repeat(64)),
    '/assets/images/..%2f..%2fetc%2fpasswd',
    sheet.replace('7a1f5c', 'red;}x'),
    sheet.replace('.css', ''),
  ]
  for (const path of others) assert.equal((await send(house.baseUrl + path)).status, 404, path)
})

test('a logo that cannot be seen on light or on dark pages is told of in the draft, and keeps it from being put in force', async () => {
  const before = await titleOf()
  await save({ shortName: 'Eastwind' })
  await upload(svgLogo('#2b0a20'))
  const borrowed =
    /The logo for light pages, which stands on dark ones as well, can hardly be seen on dark pages \(#[0-9a-f]{6}\)/
  assert.match((await admin.browser.get(home)).text, borrowed)
  const refused = await press(admin.browser, home, '/activate')
  assert.equal(refused.status, 409)
  assert.match(refused.text, borrowed)
  assert.match(refused.text, /Upload another as “Logo, dark”\./)
  assert.equal(await titleOf(), before)
  await upload(drawPng(80, 20, [240, 154, 208]), 'logoDark')
  assert.doesNotMatch((await admin.browser.get(home)).text, /can hardly be seen/)
  assert.equal((await press(admin.browser, home, '/activate')).status, 303)
  assert.equal(await titleOf(), 'Eastwind')
  const csrf = await tokenOf(admin.browser)
  const { earlier } = await listBrands(db, 'live')
  await admin.browser.post(`${home}/return`, { csrf, brand: String(earlier[0]!.id) })
})

test('what was in force can be gone back to, and that can be undone', async () => {
  const before = (await listBrands(db, 'live')).active!.id
  await save({ shortName: 'Southwind' })
  await press(admin.browser, home, '/activate')
  assert.equal(await titleOf(), 'Southwind')
  const csrf = await tokenOf(admin.browser)
  const back = await admin.browser.post(`${home}/return`, { csrf, brand: String(before) })
  assert.equal(await titleOf(), 'Northwind')
  const page = await admin.browser.get(back.location!)
  const undone = await admin.browser.post(`${home}/return`, hiddenFields(page.text, `${home}/return`))
  assert.equal(undone.status, 303)
  assert.equal(await titleOf(), 'Southwind')
  await admin.browser.post(`${home}/return`, { csrf })
  assert.equal(await titleOf(), 'Countersign', 'without a brand it is the one that the gateway comes with')
  assert.equal((await admin.browser.post(`${home}/return`, { csrf, brand: '999999' })).status, 404)
  await admin.browser.post(`${home}/return`, { csrf, brand: String(before) })
  assert.equal(await titleOf(), 'Northwind')
  assert.equal(await titleOf('/nowhere'), 'Northwind', 'also the page of an error')
})

test('of two who change a draft the second learns of the first, and nothing is put in force that its operator has not seen', async () => {
  await save()
  const [one, other] = [await admin.browser.get(home), await admin.browser.get(home)]
  const send = (page: typeof one, verb: string, fields = {}) =>
    admin.browser.submit(page, home + verb, fields)
  assert.equal((await send(one, '/save', { ...words, shortName: 'First' })).status, 303)
  for (const [verb, fields] of [
    ['/save', { ...words, shortName: 'Second' }],
    ['/activate', {}],
    ['/discard', {}],
  ] as const) {
    const refused = await send(other, verb, fields)
    assert.equal(refused.status, 409, verb)
    assert.match(refused.text, /The draft was changed since this page was loaded/)
  }
  assert.equal((await listBrands(db, 'live')).draft!.shortName, 'First')
  assert.equal((await send(await admin.browser.get(home), '/discard')).status, 303)
  assert.equal((await listBrands(db, 'live')).draft, undefined)
  assert.equal(await titleOf(), 'Northwind')
})

test('a colour that cannot be read is refused with the pair and its ratio, beside what was typed', async () => {
  const refused = await save({ accentLight: '#ffd54a', helpUrl: 'javascript:alert(1)' })
  assert.equal(refused.status, 400)
  assert.match(
    refused.text,
    /id="accentLight-problem">It is hard to read: links in this colour \(#ffd54a\) on “Background, light” \(#faf5f8\) has a contrast of 1\.3\d to 1, and WCAG AA asks for 4\.5 to 1/,
  )
  assert.match(refused.text, /id="helpUrl-problem">It must be an address such as/)
  assert.match(refused.text, /name="shortName"[^>]* value="Northwind"/)
  assert.equal((await listBrands(db, 'live')).draft, undefined)
})

test('a logo that is an attack is refused in words, and nothing of it is stored', async () => {
  await save()
  const before = await imagesStored()
  const attacks: [string, Buffer, RegExp][] = [
    [
      'script',
      Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>',
      ),
      /it has a &lt;script&gt;, which is not allowed/,
    ],
    [
      'reference',
      Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><image href="https://evil.example/x"/></svg>',
      ),
      /it has a &lt;image&gt;/,
    ],
    [
      'entities',
      Buffer.from('<!DOCTYPE svg [<!ENTITY a "b">]><svg viewBox="0 0 1 1"><title>&a;</title></svg>'),
      /document type/,
    ],
    [
      'trailing page',
      Buffer.concat([drawPng(4, 4), Buffer.from('<script>alert(1)</script>')]),
      /goes on after its end/,
    ],
    ['page', Buffer.from('<html><script>alert(1)</script></html>'), /neither a PNG nor an SVG/],
    ['nothing', Buffer.alloc(0), /must be a file/],
    ['210 KB', Buffer.alloc(210 * 1024), /at most 200 KB/],
  ]
  for (const [what, bytes, problem] of attacks) {
    const refused = await upload(bytes)
    assert.equal(refused.status, 400, what)
    assert.match(refused.text, problem, what)
  }
  assert.deepEqual(await imagesStored(), before)
  assert.equal((await upload(drawPng(8, 8), '__proto__')).status, 400)
})

test('a hundred megabytes are refused before they are read, and take no memory', async () => {
  const csrf = await tokenOf(admin.browser)
  assert.equal((await upload(Buffer.alloc(300 * 1024))).status, 413)
  const before = process.memoryUsage.rss()
  const ways: [Record<string, string>, number][] = [
    // Said at once: answered after the first piece, and the others are never sent.
    [{ 'content-length': String(100 * 1024 * 1024) }, 1],
    [{ 'transfer-encoding': 'chunked' }, 1_600],
  ]
  for (const [head, pieces] of ways) {
    const headers = { ...head, cookie: admin.browser.cookieHeader }
    assert.equal(await pour(`${house.baseUrl}${home}/image`, headers, csrf, pieces), 413)
  }
  assert.ok(process.memoryUsage.rss() - before < 80 * 1024 * 1024)
  assert.equal((await upload(drawPng(8, 8), 'favicon')).status, 303, 'and the next one is taken')
})

/** So many pieces of 64 KB, as fast as they are taken, until there is an answer. */
function pour(
  url: string,
  headers: Record<string, string>,
  csrf: string,
  pieces: number,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const type = 'multipart/form-data; boundary=b'
    const sent = request(url, {
      method: 'POST',
      headers: { 'content-type': type, accept: 'text/html', ...headers },
    })
    let left = pieces
    const piece = Buffer.alloc(64 * 1024)
    const go = () => {
      while (left-- > 0) if (!sent.write(piece)) return
    }
    sent.on('drain', go)
    sent.on('response', (answer) => {
      resolve(answer.statusCode)
      left = 0
      sent.destroy()
    })
    sent.on('error', reject)
    sent.write(`--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n${csrf}\r\n`)
    go()
  })
}

test('a body with files is read where files are taken, and nowhere else', async () => {
  const csrf = await tokenOf(admin.browser)
  const elsewhere = await admin.browser.upload(`${home}/save`, { csrf, ...words }, { image: drawPng(4, 4) })
  assert.equal(elsewhere.status, 415)
  const broken = await send(`${house.baseUrl}${home}/image`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b', cookie: admin.browser.cookieHeader },
    body: '--b\r\nnothing',
  })
  assert.equal(broken.status, 400)
  const unsigned = await new Browser(house.baseUrl).upload(
    `${home}/image`,
    { place: 'favicon' },
    { image: drawPng(4, 4) },
  )
  assert.equal(unsigned.status, 303)
})

test('images that nobody shows are removed after a day, and those of any brand stay', async () => {
  const kept = async () => (await imagesStored()).map(({ hash }) => hash)
  await upload(drawPng(9, 9, [1, 2, 3]))
  const replaced = (await listBrands(db, 'live')).draft!.logoLight!.hash
  await upload(drawPng(10, 10))
  await removeDead(house.gateway.context)
  assert.ok((await kept()).includes(replaced))
  // Last: sessions end with it.
  house.clock.advance(day)
  await removeDead(house.gateway.context)
  assert.ok(!(await kept()).includes(replaced))
  const { draft, active } = await listBrands(db, 'live')
  for (const picture of [draft!.logoLight, active!.logoLight])
    assert.ok((await kept()).includes(picture!.hash))
})

test('whoever uploads too many images in an hour waits for the next, before any more is unpacked', async () => {
  const [eager, other] = [await openConsole(house), await openConsole(house)]
  const send = async ({ browser }: typeof eager, image: Buffer) =>
    browser.upload(`${home}/image`, { csrf: await tokenOf(browser), place: 'favicon' }, { image })
  for (let sent = 0; sent < rateLimits.imageUploads.most; sent++)
    assert.equal((await send(eager, Buffer.from('no image'))).status, 400)
  const refused = await send(eager, drawPng(8, 8))
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.equal((await send(other, drawPng(8, 8))).status, 303, 'somebody else')
  house.clock.advance(hour)
  const later = await house.signIn(eager.user)
  assert.equal((await send({ ...eager, browser: later }, drawPng(8, 8))).status, 303)
})
