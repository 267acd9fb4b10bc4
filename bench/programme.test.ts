/** A run of many benchmarks tells what it measured, whatever one of them meets. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { race } from './benchmark.ts'
import { type Load, underLoad } from './load.ts'
import { type Item, runProgramme } from './programme.ts'
import { type Failure, printTable, type Row, withinLimit } from './report.ts'
import { bearerGet, cycle } from './requests.ts'
import { openStage } from './stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-programme-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function openServer(statusOf: (n: number) => number): Promise<Load & { close(): void }> {
  let n = 0
  const server = createServer((_request, response) => {
    response.writeHead(statusOf(n++), { 'content-length': 2 }).end('ok')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...{ origin, connections: 4, prepareRound: cycle([bearerGet('/', 'any')]), expected: 'ok' },
    close: () => server.close(),
  }
}

async function run(items: readonly Omit<Item, 'key'>[], close = async () => {}) {
  const [lines, shown]: [string[], (readonly Row[])[]] = [[], []]
  const rows = await runProgramme(
    items.map((item) => ({ ...item, key: item.name })),
    {
      durations: pathToFileURL(join(folder, 'durations.json')),
      close,
      say: (line) => void lines.push(line),
      show: (soFar) => void shown.push([...soFar]),
    },
  )
  return { rows, lines, shown }
}

async function runNode(args: readonly string[]): Promise<{ code: number; printed: string }> {
  const env = { PATH: process.env.PATH ?? '', TMPDIR: join(folder, 'nowhere') }
  const child = spawn(process.execPath, [...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const printed = (await child.stdout.toArray()).join('')
  return { code: (await ended)[0] as number, printed }
}

const good = (name: string): Omit<Item, 'key'> => ({ name, run: async () => [withinLimit(name, 1, 2, 'ms')] })

test('a peer that answers with a 500 fails its own row; the other peers, and the other benchmarks, are measured', async () => {
  const bad = await openServer((n) => (n < 20 ? 200 : 500))
  const stage = openStage()
  const contest = race({
    name: 'contest',
    unit: 'requests/s',
    open: async () => ({
      ours: { measure: async () => 10 },
      openPeers: async () => [
        { against: 'bad', goal: 2, side: underLoad(bad) },
        { against: 'steady', goal: 2, side: { measure: async () => 5 } },
      ],
    }),
  })
  try {
    const { rows } = await run([
      { name: 'contest', run: () => contest.run(stage, { rows: undefined }) },
      good('next'),
    ])
    assert.deepEqual(rows, [
      { name: 'contest', against: 'bad', failed: 'The server answered HTTP/1.1 500 Internal Server Error' },
      { name: 'contest', against: 'steady', goal: 2, unit: 'requests/s', ratio: 2, ours: 10, theirs: 5 },
      withinLimit('next', 1, 2, 'ms'),
    ])
  } finally {
    bad.close()
  }
})

test('a benchmark that throws, or cannot be cleared away, says so in a row, and the next begins', async () => {
  let closed = 0
  const { rows } = await run(
    [{ name: 'throws', run: () => Promise.reject(new Error('one\ntwo')) }, good('untidy'), good('last')],
    async () => {
      if (++closed === 2) throw new Error('not closed')
    },
  )
  assert.deepEqual(
    rows.map((row) => [row.name, (row as Failure).failed]),
    [
      ['throws', 'one'],
      ['untidy', undefined],
      ['untidy', 'not closed'],
      ['last', undefined],
    ],
  )
  assert.equal(closed, 3, 'each is cleared away')
  assert.match(printTable(rows).split('\n')[1]!, /^throws +failed: one$/)
})

test('an error that a benchmark leaves to nobody is its own failure, however many there are', async () => {
  const program = `
    import { runProgramme } from ${JSON.stringify(new URL('programme.ts', import.meta.url))}
    const stray = () => {
      for (let n = 0; n < 3; n++) setImmediate(() => { throw new Error('nobody listened') })
      return new Promise(() => {})
    }
    const rows = await runProgramme([{ name: 'stray', key: 'stray', run: stray }, { name: 'next', key: 'next', run: async () => [] }], {
      durations: new URL(${JSON.stringify(pathToFileURL(join(folder, 'stray.json')))}),
      close: () => new Promise((resolve) => setImmediate(resolve)), say() {}, show() {},
    })
    process.stdout.write(JSON.stringify(rows))`
  const { code, printed } = await runNode(['--input-type=module', '-e', program])
  assert.deepEqual(JSON.parse(printed), [{ name: 'stray', failed: 'nobody listened' }])
  assert.equal(code, 0)
})

test('rows are shown as they come, and each line of progress says how far it is and how long it goes on', async () => {
  rmSync(join(folder, 'durations.json'), { force: true })
  const first = await run([good('a'), good('b')])
  assert.deepEqual(
    first.shown.map((rows) => rows.length),
    [1, 2],
  )
  assert.equal(first.lines[0], '[1/2] a … time left: known when the first has ended')
  assert.match(first.lines[2]!, /^\[2\/2\] b … about \d+ s left$/)
  const second = await run([good('a'), good('b')])
  assert.match(second.lines[0]!, /^\[1\/2\] a … about \d+ s left$/)
})

test('npm run bench: every benchmark that cannot be run has its row, in the table and in the file, and the run ends with 1', async () => {
  const file = join(folder, 'results.json')
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { code, printed } = await runNode([main, 'profile', 'refresh', '--write', file])
  assert.equal(code, 1)
  for (const name of ['profile', 'refresh'])
    assert.match(printed, new RegExp(`^${name} .*failed: ENOENT`, 'm'))
  const rows = JSON.parse(readFileSync(file, 'utf8')) as Row[]
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['profile', 'refresh'],
  )
})
