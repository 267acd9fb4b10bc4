/**
 * Customers, accounts and holdings of a brokerage, streamed into a node: beside a bare COPY of the same rows
 * into tables with the same indexes; what profile requests feel of it; how much faster the same comes as a
 * snapshot that changes nothing; and what the node takes of memory, however long the file is.
 */

import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import type { Benchmark } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { accountsOf, recordsOf, writeExport, writeLines } from './export.ts'
import { type GatewayUnderTest, startGateway } from './gateway.ts'
import { send } from './load.ts'
import { readResidentMiB } from './overload.ts'
import { type Result, withinLimit } from './report.ts'
import { bearerGet } from './requests.ts'
import { startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

const customers = 1_000_000
const goal = { copy: 0.25, tail: 1.3, unchanged: 2 }
/** Of one node, however many lines it reads. */
const growthAtMostMiB = 100
const program = new URL('peers/export.ts', import.meta.url)
const askEveryMs = 5
const countedMs = 10_000

export const importing: Benchmark = {
  name: 'import',
  async run(stage, { rows = customers }) {
    const gateway = await startGateway(stage)
    const { id, secret } = await gateway.makePublisher()
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    const file = join(stage.makeFolder(), 'export')
    const lines = await writeExport(file, rows)
    const core = await startPeer(stage, program, [gateway.internal, authorization, file])
    const token = (await gateway.makeAccessTokens(holders))[0]!
    const copied = await copyBare(stage, gateway.db, rows)
    const quiet = await watchProfile(gateway, token, () => wait(countedMs))
    const before = readResidentMiB(gateway.pid)
    let most = 0
    const look = setInterval(() => {
      most = Math.max(most, readResidentMiB(gateway.pid))
    }, 500)
    stage.owns(() => clearInterval(look))
    const busy = await watchProfile(gateway, token, () => core.ask('mode=changes', lines))
    const imported = recordsOf(rows) / busy.seconds
    const again = await timed(() => core.ask('mode=snapshot', lines))
    const name = `import, ${rows.toLocaleString('en')} customers`
    return [
      row(name, 'a bare COPY', goal.copy, imported, copied, 'records/s'),
      row(`${name}: p99 of profiles meanwhile`, 'without it', goal.tail, busy.p99Ms, quiet.p99Ms, 'ms', true),
      row(
        `${name}: again, nothing changed`,
        'the first time',
        goal.unchanged,
        recordsOf(rows) / again,
        imported,
        'records/s',
      ),
      withinLimit(`${name}: growth of the node`, Math.max(0, most - before), growthAtMostMiB, 'MiB'),
    ]
  },
}

function row(
  name: string,
  against: string,
  goal: number,
  ours: number,
  theirs: number,
  unit: string,
  atMost = false,
): Result {
  return { name, against, goal, ratio: ours / theirs, ours, theirs, unit, atMost }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await work()
  return (performance.now() - beganMs) / 1_000
}

interface LatencySample {
  readonly seconds: number
  readonly p99Ms: number
}

/** Profiles asked for at a steady pace, one after the other, as long as the work takes. */
async function watchProfile(
  { origin }: GatewayUnderTest,
  token: string,
  work: () => Promise<unknown>,
): Promise<LatencySample> {
  const asked = bearerGet('/v1/user/profile', token)
  const tookMs: number[] = []
  let isOver = false
  const working = timed(work).finally(() => {
    isOver = true
  })
  while (!isOver) {
    const beganMs = performance.now()
    await send(origin, asked)
    tookMs.push(performance.now() - beganMs)
    await wait(askEveryMs)
  }
  const seconds = await working
  return { seconds, p99Ms: tookMs.sort((one, other) => one - other)[Math.floor(tookMs.length * 0.99)]! }
}

/**
 * Tables with the same columns, checks and indexes, and nothing that fires; read by the server from a file.
 */
const bareTables = `CREATE SCHEMA bare;
  CREATE TABLE bare.users (LIKE users INCLUDING ALL); CREATE TABLE bare.accounts
    (LIKE accounts INCLUDING ALL); CREATE TABLE bare.holdings (LIKE holdings INCLUDING ALL)`

async function copyBare(stage: Stage, db: Database, count: number): Promise<number> {
  const folder = stage.makeFolder()
  await db.script(bareTables)
  const moment = '2026-01-01T00:00:00Z'
  const id = (n: number) => `id-${String(n).padStart(12, '0')}`
  const files = [
    [
      'users (id, username, name, email, role, status, source, external_id, version, source_status, created_at, updated_at)',
      count,
      (n: number) =>
        `${id(n)}\tcore:c${n}\tCustomer ${n} of the house\tc${n}@example.com\tholder\tactive\tcore\tC${n}\t1\tactive\t${moment}\t${moment}\n`,
    ],
    [
      'accounts (account_number, environment, classification, date_created, option_level, type, last_update_date, source, external_id, version)',
      accountsOf(count),
      (n: number) => `IMP${n}\tlive\tindividual\t${moment}\t2\tmargin\t${moment}\tcore\tA${n}\t1\n`,
    ],
    [
      'holdings (user_id, account_number, role, scopes, status, version, created_at, updated_at)',
      accountsOf(count),
      (n: number) =>
        `${id(n % count)}\tIMP${n}\towner\t{read,write,market,trade,stream}\tactive\t1\t${moment}\t${moment}\n`,
    ],
  ] as const
  let seconds = 0
  for (const [place, [into, rows, print]] of files.entries()) {
    const file = join(folder, String(place))
    const lines = function* () {
      for (let n = 0; n < rows; n++) yield print(n)
    }
    await writeLines(file, lines())
    seconds += await timed(() => ask(db, `COPY bare.${into} FROM '${file}'`))
  }
  await db.script('DROP SCHEMA bare CASCADE; CHECKPOINT')
  return recordsOf(count) / seconds
}
