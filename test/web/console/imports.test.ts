/**
 * Imports in the console: how each went, what is wrong with which line, and what happens to a snapshot that
 * would remove too much.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { findEntries } from '../../../src/audit/audit.ts'
import { minute } from '../../../src/clock.ts'
import { getImport, readImport } from '../../../src/provisioning/import.ts'
import { toldBy } from '../../support/answers.ts'
import { type Answer, Browser, hiddenFields } from '../../support/browser.ts'
import { openConsole, press, turnPages } from '../../support/console.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { holdSnapshot, household, households, importLines, readSome } from '../../support/imports.ts'
import { watch } from '../../support/live-page.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { nameSource, openCore, readSource } from '../../support/provisioning.ts'
import { pathOf, tokenOf } from '../../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context
const { browser, user } = await openConsole(house)
const at = (id: number) => `/console/imports/${id}`

async function* linesOf(record: unknown): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(record)}\n`)
}

async function hasEnded(id: number): Promise<void> {
  await eventually('the removal has ended', async () => (await getImport(db, id)).state === 'finished')
}

const rowOf = ({ text }: Answer, id: number) =>
  new RegExp(`<tr(?:(?!</tr>)[\\s\\S])*href="${at(id)}"[\\s\\S]*?</tr>`).exec(text)?.[0]

test('the list tells source, mode, sender, state and counts of each import, the newest first', async () => {
  const source = makeUpWord()
  const first = await importLines(house, source, [...households(source, 2), '{', { kind: 'customer' }])
  const tried = await importLines(house, source, households(source, 1), { mode: 'snapshot', dryRun: true })
  const list = await browser.get('/console/imports')
  assert.ok(list.text.indexOf(`href="${at(tried.id)}"`) < list.text.indexOf(`href="${at(first.id)}"`))
  const row = rowOf(list, first.id)!
  for (const words of ['finished', source, 'changes', 'test (command line)'])
    assert.ok(row.includes(words), row)
  for (const [name, number] of Object.entries({ Lines: 8, Applied: 6, Skipped: 0, Faulty: 2 }))
    assert.match(row, new RegExp(`data-label="${name}" class="number">${number}<`))
  assert.match(rowOf(list, tried.id)!, /snapshot <span class="state off">dry run/)
})

test('who sent it is told by the name of the service', async () => {
  const source = makeUpWord()
  const core = await openCore(house, 'live', [source])
  const lines = households(source, 1).map((each) => `${JSON.stringify(each)}\n`)
  const answer = await fetch(`${house.internalUrl}/internal/v1/imports?source=${source}`, {
    method: 'POST',
    headers: { ...core.headers, 'content-type': 'application/x-ndjson' },
    body: lines.join(''),
  })
  const { id } = (await answer.json()) as { id: number }
  assert.match(
    rowOf(await browser.get('/console/imports'), id)!,
    new RegExp(`title="service:${core.id}">core<`),
  )
})

test('an import is watched while it is read, and what is wrong with which line is told with its field', async () => {
  const source = makeUpWord()
  const running = await readSome(house, source, [...households(source, 1), '{'], { totalBytes: 4_000 })
  const page = await watch(browser, at(running.id))
  try {
    const before = JSON.parse(
      /data: (.*)\n\n/.exec(await page.until(/must be a JSON object.*\n\n/))![1]!,
    ) as string
    assert.match(before, /<progress value="\d+" max="4000"/)
    assert.match(before, />4<\/td><td[^>]*><code>line<\/code><\/td><td[^>]*>must be a JSON object</)
    await readImport(db, running, linesOf(household(source, 1)[0]), house)
    await page.until(/<dt>Lines read<\/dt><dd>5<\/dd>/)
  } finally {
    page.stop()
  }
})

test('faults are read page by page, and all that are kept are a file that no spreadsheet takes for a formula', async () => {
  const lines = Array.from({ length: 120 }, () => '{')
  const { id } = await importLines(house, makeUpWord(), [...lines, { kind: 'customer', '=1+1': 'x' }])
  const pages = await turnPages(browser, at(id))
  assert.deepEqual(
    pages.map(({ text }) => text.match(/<code>/g)?.length),
    [50, 50, 21],
  )
  const file = await browser.get(`${at(id)}/faults`)
  assert.match(String(file.headers['content-disposition']), new RegExp(`filename="import-${id}-faults.csv"`))
  assert.equal(file.text.split('\r\n').length, 1 + 121 + 1)
  assert.match(file.text, /^"line","field","problem"\r\n"1","line","must be a JSON object"\r\n/)
  assert.doesNotMatch(file.text, /"=/)
})

test('what a source writes is text, wherever it is shown', async () => {
  const source = makeUpWord()
  const evil = { kind: 'customer', externalId: 'C1', name: '<b>evil</b>', version: 1 }
  await importLines(house, source, [evil, ...household(source, 2), { kind: 'customer', '<i>x</i>': 1 }])
  const { id } = await importLines(house, source, household(source, 2), { mode: 'snapshot', asOf: 1 })
  const page = await browser.get(at(id))
  assert.ok(page.text.includes('&lt;b&gt;evil&lt;/b&gt;') && !page.text.includes('<b>evil'), page.text)
})

test('a snapshot that would remove too much waits in the queue; its page says how much, of how many, and whom', async () => {
  const held = await holdSnapshot(house, 14)
  const queue = (await browser.get('/console')).text
  const row = new RegExp(
    `Snapshot of ${held.source}[\\s\\S]*?It would remove 39 of 42 records\\.[\\s\\S]*?href="${at(held.id)}"`,
  )
  assert.match(queue, row)
  const { text } = await browser.get(at(held.id))
  assert.match(text, /Remove 39 of 42 records\?/)
  assert.match(
    text,
    /<h3>13 customers<\/h3>\s*<ul><li><code>C1<\/code> <a href="\/console\/users\/[^"]+">Carla Customer 1<\/a>/,
  )
  assert.match(text, /and 8 more/)
  assert.match(text, /<h3>13 holdings<\/h3>\s*<ul><li><code>C1<\/code> in <code>A1<\/code>/)
})

test('a yes removes what is missing, once: the second is told that it waits no more', async () => {
  const held = await holdSnapshot(house)
  const other = await openConsole(house, 'Second Operator')
  const stale = await other.browser.get(at(held.id))
  const yes = await press(browser, at(held.id), '/remove')
  assert.equal(toldBy(await browser.get(pathOf(yes)))!.text, 'The records are being removed.')
  await hasEnded(held.id)
  assert.equal((await readSource(db, held.source)).holdings!.length, 1)
  const again = await other.browser.submit(stale, `${at(held.id)}/remove`, { reason: 'Me too.' })
  assert.match(
    toldBy(await other.browser.get(pathOf(again)))!.text,
    /^Nothing was removed: this import waits no more/,
  )
  const allowed = await findEntries(db, { subject: `import:${held.id}`, action: 'import.allowed' })
  assert.deepEqual(
    allowed.map(({ actor, details }) => [actor, details.missing, details.reason]),
    [[`user:${user.id}`, 9, 'It was asked for.']],
  )
})

test('a form that names another number of records than would go removes nothing', async () => {
  const held = await holdSnapshot(house)
  for (const missing of ['8', '', '-9', 'many']) {
    const fields = { csrf: await tokenOf(browser), missing, reason: 'x' }
    assert.equal((await browser.post(`${at(held.id)}/remove`, fields)).status, 303, missing)
    assert.equal((await getImport(db, held.id)).state, 'needs approval', missing)
  }
})

test('a no leaves everything, and a snapshot that was overtaken can only be stopped', async () => {
  const held = await holdSnapshot(house)
  const stale = await browser.get(at(held.id))
  const whole = await importLines(house, held.source, households(held.source, 4), {
    mode: 'snapshot',
    asOf: 1,
  })
  const page = await browser.get(at(held.id))
  assert.match(
    page.text,
    new RegExp(`A newer snapshot of ${held.source} has come since: <a href="${at(whole.id)}"`),
  )
  assert.ok(!page.text.includes(`action="${at(held.id)}/remove"`))
  const late = await browser.submit(stale, `${at(held.id)}/remove`, {
    reason: 'It was open for ten minutes.',
  })
  assert.match(toldBy(await browser.get(pathOf(late)))!.text, /a newer snapshot has come/)
  const no = await press(browser, at(held.id), '/stop')
  assert.equal(toldBy(await browser.get(pathOf(no)))!.text, `Import ${held.id} is stopped.`)
  assert.equal((await readSource(db, held.source)).holdings!.length, 4)
  const again = await browser.submit(page, `${at(held.id)}/stop`, { reason: 'x' })
  assert.equal(again.status, 409)
  assert.match(again.text, /is no longer running or needs approval/)
})

test('an import that is stopped while it is read takes no more lines', async () => {
  const source = makeUpWord()
  const running = await readSome(house, source, households(source, 1))
  assert.equal((await press(browser, at(running.id), '/stop')).status, 303)
  await assert.rejects(
    readImport(db, running, linesOf(household(source, 2)[0]), house),
    /Somebody else goes on with import \d+, or it has ended/,
  )
  assert.match((await browser.get(at(running.id))).text, /What was applied before stays\./)
})

test('a yes takes a sign-in of minutes ago', async () => {
  const held = await holdSnapshot(house)
  const late = await openConsole(house, 'Lara Late')
  const page = await late.browser.get(at(held.id))
  house.clock.advance(6 * minute)
  const answer = await late.browser.submit(page, `${at(held.id)}/remove`, { reason: 'x' })
  assert.match(answer.location!, /^\/login\?/)
  assert.equal((await getImport(db, held.id)).state, 'needs approval')
})

/** As an administrator who has just signed in chooses it in the browser. */
async function openUpload() {
  const { browser, user } = await openConsole(house)
  const action = '/console/imports/new/upload'
  const { csrf } = hiddenFields((await browser.get('/console/imports/new')).text, action)
  const common = { csrf: csrf!, mode: 'changes', reason: 'The nightly run failed.' }
  return {
    user,
    upload: (text: string | Buffer, fields: Record<string, string>) =>
      browser.upload(action, { ...common, ...fields }, { file: Buffer.from(text) }),
    told: async (answer: Answer) => toldBy(await browser.get(pathOf(answer)))!.text,
  }
}

test('a file of CSV or of JSON lines is uploaded, applied and told of', async () => {
  const { upload, told, user } = await openUpload()
  const source = await nameSource(house)
  const csv = await upload('externalId,name,version\nC-1,Ada,1\nC-2,Grace,1\n', { source, kind: 'customer' })
  assert.equal(csv.status, 303, csv.text)
  assert.match(await told(csv), /^3 lines were read\.$/)
  const lines = [{ kind: 'customer', externalId: 'C-2', op: 'remove', version: 2 }, { kind: 'nothing' }]
  const json = await upload(lines.map((line) => JSON.stringify(line)).join('\n'), { source })
  assert.match(await told(json), /^2 lines were read\. 1 has a fault\.$/)
  const tried = await upload('externalId,name,version\nC-3,Edith,1\n', {
    ...{ source, kind: 'customer', 'dry-run': 'yes' },
  })
  assert.match(await told(tried), /nothing was changed/)
  const { customers } = await readSource(db, source)
  assert.match(JSON.stringify(customers), /C-1/)
  assert.doesNotMatch(JSON.stringify(customers), /C-3/)
  const [entry] = await findEntries(db, { action: 'import.started', actor: `user:${user.id}` })
  assert.equal(entry?.subject, `import:${pathOf(tried).split('/').at(-1)}`)
})

test('a snapshot without most of what is known waits for a decision, however it came', async () => {
  const source = makeUpWord()
  await importLines(house, source, households(source, 5), { mode: 'snapshot' })
  house.clock.advance(minute)
  const { upload, told } = await openUpload()
  const answer = await upload(JSON.stringify(household(source, 1)[0]), { source, mode: 'snapshot' })
  assert.match(await told(answer), /waits for a decision/)
})

test('a file that cannot be taken is refused beside its field, and one of a stranger is not read', async () => {
  const { upload } = await openUpload()
  const source = await nameSource(house)
  for (const [file, field, words] of [
    ['', 'file', /must be a file/],
    [gzipSync('{}'), 'file', /unpack it first/],
    ['{}', 'source', /one of the list/],
  ] as const) {
    const answer = await upload(file, { source: field === 'source' ? 'nobodys' : source })
    assert.equal(answer.status, 400)
    assert.match(answer.text, words)
  }
  const long = `{"kind":"customer"}\n`.repeat(20_000)
  const stranger = new Browser(house.baseUrl)
  assert.equal(
    (await stranger.upload('/console/imports/new/upload', {}, { file: Buffer.from(long) })).status,
    413,
  )
  assert.equal((await upload(long, { source })).status, 303)
  assert.equal((await upload('x'.repeat(5 * 1024 * 1024), { source })).status, 413)
})
