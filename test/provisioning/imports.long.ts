/**
 * POST /internal/v1/imports: files of records, streamed; what is wrong with which line; going on after a cut;
 * snapshots.
 */

import assert from 'node:assert/strict'
import { request as open } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { minute } from '../../src/clock.ts'
import { getImport, listImports } from '../../src/provisioning/import.ts'
import { allowRemoval, removeMissing, stopImport } from '../../src/provisioning/snapshot.ts'
import { changeProvisioning, revokeService } from '../../src/services/service.ts'
import { ask } from '../support/ask.ts'
import { type Answer, send } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { openCore, readSource } from '../support/provisioning.ts'

const house = await openHouse({ REQUEST_TIMEOUT_MS: '2000' })
const { db } = house.gateway.context
const sources = Array.from({ length: 40 }, (_, n) => `source-${n + 1}`)
const core = await openCore(house, 'live', ['core', ...sources])
const url = `${house.internalUrl}/internal/v1/imports`
const ndjson = { ...core.headers, 'content-type': 'application/x-ndjson' }

interface ImportBody {
  readonly id: number
  readonly state: string
  readonly lines: number
  readonly created: number
  readonly changed: number
  readonly removed: number
  readonly unchanged: number
  readonly skipped: number
  readonly waiting: number
  readonly failed: number
  readonly missing?: number
  readonly known?: number
  readonly faults: { readonly line: number; readonly field: string; readonly problem: string }[]
}

const print = (records: readonly unknown[]) =>
  records.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join('')

/** As the last line of a snapshot has it. */
const endOf = (records: readonly unknown[]) => ({ end: { records: records.length } })

async function importAll(records: readonly unknown[], query: string): Promise<ImportBody> {
  const body = print(query.includes('mode=snapshot') ? [...records, endOf(records)] : records)
  const answer = await send(`${url}?${query}`, { method: 'POST', headers: ndjson, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ImportBody>()
}

/** A source of its own for each test. */
let made = 0
const nameSource = () => sources[made++]!

function household(source: string, n: number, version = 1): Record<string, unknown>[] {
  const number = `${source.replace('-', '').toUpperCase()}X${n}`
  return [
    { kind: 'customer', externalId: `C${n}`, name: `Name ${n}`, version },
    { kind: 'account', externalId: `A${n}`, number, type: 'cash', version },
    { kind: 'holding', customer: `C${n}`, account: `A${n}`, role: 'owner', version },
  ]
}
const households = (source: string, count: number, version = 1) =>
  Array.from({ length: count }, (_, n) => household(source, n, version)).flat()

test('lines without fault are applied, the others are told with line and field', async () => {
  const source = nameSource()
  const told = await importAll(
    [
      ...household(source, 1),
      '',
      'no JSON',
      { kind: 'customer', externalId: 'C2', name: 'Ada' },
      { kind: 'customer', externalId: 'C3', name: '', version: 1 },
      { ...household(source, 1)[1], externalId: 'A9' },
      { kind: 'holding', customer: 'C8', account: 'A8', role: 'owner', version: 1 },
      { kind: 'customer', externalId: 'C1', name: 'Older', version: 0 },
      `"${'x'.repeat(70_000)}"`,
      { op: 'remove', kind: 'account', externalId: 'A7', version: 2 },
    ],
    `source=${source}`,
  )
  const { created, removed, waiting, skipped, failed, lines, state } = told
  assert.deepEqual(
    { created, removed, waiting, skipped, failed, lines, state },
    { created: 3, removed: 1, waiting: 1, skipped: 1, failed: 5, lines: 12, state: 'finished' },
  )
  assert.deepEqual(
    told.faults.map(({ line, field }) => [line, field]),
    [
      [5, 'line'],
      [6, 'version'],
      [7, 'name'],
      [8, 'number'],
      [11, 'line'],
    ],
  )
  const again = await send(`${url}/${told.id}`, { headers: core.headers })
  assert.deepEqual(again.json<ImportBody>(), told)
  const listed = await send(url, { headers: core.headers })
  assert.ok(listed.json<{ imports: ImportBody[] }>().imports.some(({ id }) => id === told.id))
})

test('everybody who is given an account in a file is announced, however many they are', async () => {
  const source = nameSource()
  const heard = new Set<string>()
  const forget = house.gateway.context.changes.subscribe((tag) => heard.add(tag))
  await importAll(households(source, 650), `source=${source}`)
  forget()
  const users = await ask<{ id: string }>(db, 'SELECT id FROM users WHERE source = $1', [source])
  assert.equal(users.length, 650)
  assert.deepEqual(
    users.filter(({ id }) => !heard.has(`user:${id}`)),
    [],
  )
})

test('nobody holds an account that is not there, no account is held by nobody, and nothing that is held can be deleted', async () => {
  const source = nameSource()
  await importAll(household(source, 1), `source=${source}`)
  const refuses = (text: string) => assert.rejects(ask(db, text, [source]), { code: '23503' }, text)
  const number = source.replace('-', '').toUpperCase()
  await refuses(`INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
    SELECT id, 'NONE', 'owner', '{}', created_at, created_at FROM users WHERE source = $1`)
  await refuses(`INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
    SELECT 'id-nobodynobody', account_number, 'owner', '{}', date_created, date_created FROM accounts
      WHERE source = $1`)
  await refuses(
    `UPDATE holdings SET user_id = 'id-nobodynobody' WHERE account_number IN (SELECT account_number
      FROM accounts WHERE source = $1)`,
  )
  await refuses(`UPDATE accounts SET account_number = '${number}Y' WHERE source = $1`)
  await refuses('DELETE FROM accounts WHERE source = $1')
  await refuses('DELETE FROM users WHERE source = $1')
})

test('what is sent with gzip is read the same', async () => {
  const source = nameSource()
  const body = gzipSync(print(households(source, 20)))
  const headers = { ...ndjson, 'content-encoding': 'gzip' }
  const answer = await fetch(`${url}?source=${source}`, { method: 'POST', headers, body })
  assert.equal(((await answer.json()) as ImportBody).created, 60)
  const cut = await fetch(`${url}?source=${source}`, {
    method: 'POST',
    headers,
    body: body.subarray(0, body.length - 20),
  })
  assert.deepEqual(
    [cut.status, ((await cut.json()) as { error_description: string }).error_description],
    [400, 'The body is not gzip, or was cut short.'],
  )
})

test('a dry run tells what would come of it, and applies nothing', async () => {
  const source = nameSource()
  const told = await importAll(households(source, 5), `source=${source}&dryRun=true`)
  assert.deepEqual([told.created, told.state], [15, 'finished'])
  assert.deepEqual(await readSource(db, source), { customers: [], accounts: [], holdings: [], waiting: [] })
})

/** Sends a part of a body and stays open. */
function begin(query: string, headers: Record<string, string> = ndjson) {
  const sent = open(`${url}?${query}`, { method: 'POST', headers })
  sent.on('error', () => {})
  const answered = new Promise<{ status: number; text: string }>((resolve) => {
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
  })
  return { sent, answered }
}

const newest = async (source: string) => (await listImports(db, 1, { sources: [source] }))[0]

test('after a cut the import goes on from its last committed line, and from no other', async () => {
  const source = nameSource()
  const all = households(source, 2_000)
  const { sent } = begin(`source=${source}`)
  sent.write(print(all.slice(0, 4_500)))
  const cut = await eventually('four thousand lines are committed', async () => {
    const found = await newest(source)
    return found?.lines === 4_000 ? found : undefined
  })
  sent.destroy()
  const goOn = (after: number, records: readonly unknown[]): Promise<Answer> =>
    send(`${url}/${cut.id}?after=${after}`, { method: 'PATCH', headers: ndjson, body: print(records) })
  assert.equal((await goOn(3_999, all.slice(3_999))).status, 409)
  const ended = (await goOn(4_000, all.slice(4_000))).json<ImportBody>()
  assert.deepEqual([ended.state, ended.lines, ended.created], ['finished', 6_000, 6_000])
  assert.equal((await goOn(6_000, [])).status, 409, 'it has ended')
})

test('an import may take longer than any other request, and a service that is revoked meanwhile adds nothing more', async () => {
  const source = nameSource()
  const other = await openCore(house, 'live', sources)
  const narrowed = await openCore(house, 'live', sources)
  const { sent, answered } = begin(`source=${source}`)
  const ended = begin(`source=${nameSource()}`, { ...other.headers, 'content-type': 'application/x-ndjson' })
  const lost = nameSource()
  const silenced = begin(`source=${lost}`, { ...narrowed.headers, 'content-type': 'application/x-ndjson' })
  const all = households(source, 10)
  silenced.sent.write(print(all.slice(0, 3)))
  sent.write(print(all.slice(0, 15)))
  ended.sent.write(print(all.slice(0, 3)))
  // A request of the same length that is no import has used up its time.
  const slow = open(`${house.internalUrl}/internal/v1/events`, {
    method: 'POST',
    headers: { ...core.headers, 'content-type': 'application/json', 'content-length': '1000' },
  })
  slow.on('error', () => {})
  const refused = new Promise<number>((resolve) =>
    slow.on('response', (response) => resolve(response.statusCode!)),
  )
  slow.write('{')
  assert.equal(await refused, 408)
  sent.end(print(all.slice(15)))
  assert.equal((JSON.parse((await answered).text) as ImportBody).created, 30)
  await revokeService(db, other.id, house.act())
  ended.sent.end()
  assert.equal((await ended.answered).status, 401)
  await changeProvisioning(db, narrowed.id, { added: [], withdrawn: [lost] }, house.act())
  silenced.sent.end()
  assert.equal((await silenced.answered).status, 403)
})

test('a snapshot removes what it does not have, and what is said while it runs stays', async () => {
  const source = nameSource()
  await importAll(households(source, 200), `source=${source}`)
  house.clock.advance(minute)
  const { sent, answered } = begin(`source=${source}&mode=snapshot`)
  sent.write(print(households(source, 199)))
  await eventually('the snapshot has begun', async () =>
    (await newest(source))?.mode === 'snapshot' ? true : undefined,
  )
  const late = await core.put(`customers/LATE?source=${source}`, { name: 'Late', version: 1 })
  assert.equal(late.status, 200)
  sent.end(print([{ end: { records: 597 } }]))
  const told = JSON.parse((await answered).text) as ImportBody
  assert.deepEqual([told.state, told.missing, told.removed, told.unchanged], ['finished', 3, 3, 597])
  const { customers, holdings } = await readSource(db, source)
  assert.deepEqual(
    customers!.find((each) => (each as { id: string }).id === 'C199'),
    { id: 'C199', said: null, version: 1 },
  )
  assert.equal(customers!.filter((each) => (each as { said: unknown }).said !== null).length, 200)
  assert.equal(holdings!.length, 199)
  const same = await core.put(`customers/C199?source=${source}`, { name: 'Back', version: 1 })
  assert.equal(
    same.json().outcome,
    'unchanged',
    'what the snapshot has removed is not raised by what was known before it',
  )
})

test('of a snapshot everything is counted as of any other file, however much of it is known; what changed last says how far the source is', async () => {
  const counts = ({ created, changed, removed, unchanged, skipped, waiting, failed }: ImportBody) => ({
    ...{ created, changed, removed, unchanged, skipped, waiting, failed },
  })
  const newest = '2031-05-06T07:08:09Z'
  const told: ReturnType<typeof counts>[] = []
  const rows: string[] = []
  for (const mode of ['changes', 'snapshot']) {
    const source = nameSource()
    await importAll(
      [...households(source, 20, 5), { op: 'remove', kind: 'customer', externalId: 'C30', version: 7 }],
      `source=${source}`,
    )
    const file = [
      ...households(source, 10, 5).map((each) => ({ ...each, changedAt: newest })),
      ...household(source, 10, 4),
      ...household(source, 11, 6),
      ...household(source, 12, 5),
      ...household(source, 12, 5),
      ...household(source, 21, 1),
      ...Array.from({ length: 7 }, (_, n) => household(source, 13 + n, 5)).flat(),
      { ...household(source, 13)[0], version: 6, name: 'Newer in the same file' },
      { kind: 'customer', externalId: 'C30', name: 'Of before', version: 6 },
      { op: 'remove', kind: 'holding', customer: 'C14', account: 'A14', version: 5 },
      { op: 'remove', kind: 'holding', customer: 'C15', account: 'A15', version: 6 },
      { kind: 'holding', customer: 'C1', account: 'nowhere', role: 'owner', version: 1 },
    ]
    told.push(counts(await importAll(file, `source=${source}&mode=${mode}`)))
    const capital = source.replace('-', '').toUpperCase()
    rows.push(
      JSON.stringify(await readSource(db, source))
        .replaceAll(capital, '')
        .replaceAll(source, ''),
    )
    const [said] = await ask<{ at: Date }>(db, 'SELECT newest_at AS at FROM sources WHERE name = $1', [
      source,
    ])
    assert.deepEqual(said!.at, new Date(newest), mode)
  }
  assert.equal(rows[1], rows[0])
  const [changes, snapshot] = told
  // Of what is said twice in one file, the older is known here and passed over there.
  assert.deepEqual(snapshot, {
    ...changes!,
    unchanged: changes!.unchanged + 2,
    skipped: changes!.skipped - 2,
  })
})

test('a snapshot that ends without its last line, or before it, removes nothing and can be gone on with', async () => {
  const source = nameSource()
  await importAll(households(source, 400), `source=${source}`)
  house.clock.advance(minute)
  const all = households(source, 399)
  const post = (records: readonly unknown[]) =>
    send(`${url}?source=${source}&mode=snapshot`, { method: 'POST', headers: ndjson, body: print(records) })
  const goOn = async (records: readonly unknown[]): Promise<Answer> => {
    const { id, lines } = (await newest(source))!
    return send(`${url}/${id}?after=${lines}`, { method: 'PATCH', headers: ndjson, body: print(records) })
  }
  const fields = (answer: Answer) => [
    answer.status,
    answer.json<{ fields: { field: string }[] }>().fields[0]!.field,
  ]

  assert.deepEqual(fields(await post(all.slice(0, 1_000))), [400, 'end'])
  assert.deepEqual(fields(await goOn([endOf(all)])), [400, 'end.records'], 'something is missing')
  assert.deepEqual(fields(await goOn([...all.slice(1_000), endOf(all), all[0]])), [400, 'line 1199'])
  const { state, removed } = (await newest(source))!
  assert.deepEqual([state, removed, (await readSource(db, source)).holdings!.length], ['running', 0, 400])
  const told = (await goOn([...all.slice(1_000), '', endOf(all)])).json<ImportBody>()
  assert.deepEqual([told.state, told.removed, told.unchanged, told.failed], ['finished', 3, 1_197, 0])
})

test('a snapshot that would remove more than its share waits for a yes; a no leaves everything', async () => {
  const source = nameSource()
  await importAll(households(source, 20), `source=${source}`)
  house.clock.advance(minute)
  const half = () => importAll(households(source, 10), `source=${source}&mode=snapshot`)
  const refused = await half()
  assert.deepEqual([refused.state, refused.missing, refused.known], ['needs approval', 30, 60])
  assert.equal((await stopImport(db, refused.id, house.act())).state, 'stopped')
  const asked = await half()
  const living = async () => (await readSource(db, source)).holdings!.length
  assert.equal(await living(), 20)
  const ended = await removeMissing(db, await allowRemoval(db, asked.id, house.act()), house.act())
  await eventually('it has ended', async () =>
    (await getImport(db, ended.id)).state === 'finished' ? true : undefined,
  )
  assert.equal(await living(), 10)
  await assert.rejects(allowRemoval(db, asked.id, house.act()), /no longer needs approval/)
})

test('a yes to a snapshot removes nothing that a newer snapshot of the same source has', async () => {
  const source = nameSource()
  await importAll(households(source, 20), `source=${source}`)
  house.clock.advance(minute)
  const cut = await importAll(households(source, 10), `source=${source}&mode=snapshot`)
  assert.equal(cut.state, 'needs approval')
  const tried = await importAll(households(source, 20), `source=${source}&mode=snapshot&dryRun=true`)
  assert.equal(tried.state, 'finished')
  const whole = await importAll(households(source, 20), `source=${source}&mode=snapshot`)
  assert.deepEqual([whole.state, whole.unchanged], ['finished', 60])
  await assert.rejects(
    allowRemoval(db, cut.id, house.act()),
    new RegExp(`Import ${whole.id} is a newer snapshot of the same source: stop import ${cut.id}`),
  )
  assert.equal((await readSource(db, source)).holdings!.length, 20)
  assert.equal((await stopImport(db, cut.id, house.act())).state, 'stopped')
})

test('a snapshot that is gone on with after a newer one has begun removes nothing, however little it lacks', async () => {
  const source = nameSource()
  await importAll(households(source, 200), `source=${source}`)
  house.clock.advance(minute)
  const all = households(source, 200)
  const short = await send(`${url}?source=${source}&mode=snapshot`, {
    method: 'POST',
    headers: ndjson,
    body: print(all.slice(0, 300)),
  })
  assert.equal(short.status, 400, short.text)
  const cut = await newest(source)
  const whole = await importAll(all, `source=${source}&mode=snapshot`)
  assert.equal(whole.state, 'finished')
  const rest = [...all.slice(300, 597), { end: { records: 597 } }]
  const late = await send(`${url}/${cut!.id}?after=300`, {
    method: 'PATCH',
    headers: ndjson,
    body: print(rest),
  })
  assert.equal(late.status, 409, late.text)
  assert.match(
    late.text,
    new RegExp(`Import ${whole.id} is a newer snapshot of the same source: stop import ${cut!.id}`),
  )
  assert.equal((await readSource(db, source)).holdings!.length, 200)
})

test('of a snapshot that says as of which version it is, what is newer stays', async () => {
  const source = nameSource()
  await importAll([...households(source, 100), ...household(source, 100, 9)], `source=${source}`)
  const told = await importAll(households(source, 99), `source=${source}&mode=snapshot&asOf=5`)
  assert.deepEqual([told.missing, told.removed], [3, 3])
  const { customers } = await readSource(db, source)
  assert.notEqual(
    (customers!.find((each) => (each as { id: string }).id === 'C100') as { said: unknown }).said,
    null,
  )
})

test('nobody but a service of the same site may import, or see what was', async () => {
  const sandbox = await openCore(house, 'sandbox')
  const [one] = await listImports(db, 1, { environment: 'live' })
  assert.equal(
    (await send(`${house.internalUrl}/internal/v1/imports/${one!.id}`, { headers: sandbox.headers })).status,
    404,
  )
  assert.deepEqual((await send(url, { headers: sandbox.headers })).json(), { imports: [] })
  const stranger = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: '{}',
  })
  assert.equal(stranger.status, 401)
})

test('lines of JSON go to imports alone, and imports take nothing else', async () => {
  const elsewhere = await send(`${house.internalUrl}/internal/v1/events`, {
    method: 'POST',
    headers: ndjson,
    body: '{}',
  })
  assert.equal(elsewhere.status, 415)
  const other = await send(url, {
    method: 'POST',
    headers: { ...core.headers, 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(other.status, 415)
})
