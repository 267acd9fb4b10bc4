/**
 * The engine on the Citus whose coordinator `CITUS_URL` names, beside one PostgreSQL of the same release on the
 * same machine: what a delivery costs all servers and the gateway, what a publisher's transaction costs, and how
 * long a lone event takes. Alternating rounds, medians. `npm run bench:citus`.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '../src/database/database.ts'
import { ask } from '../test/support/ask.ts'
import { atDatabase, createDatabase, dropDatabase, findServers } from '../test/support/citus.ts'
import { findSystemPostgres, openSystemServer } from '../test/support/system-postgres.ts'
import { readFamilyUs, readProcessUs } from './costs/processor-time.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { findPostgresPid } from './postgres.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { median } from './rounds.ts'
import { openStage, type Stage } from './stage.ts'

const rounds = 5
const shapes = [
  { name: 'a delivery, one branch with 100 webhooks', branches: 1, webhooks: 100, events: 200, limit: 1.3 },
  { name: 'a delivery, 100 branches with one webhook', branches: 100, webhooks: 1, events: 100, limit: 1.3 },
]
/** So many that events always wait for the engine: full load. */
const publishers = 8
const transactions = 500
const loneEvents = 60

interface Side {
  readonly gateway: GatewayUnderTest
  /** Of the gateway and of each server, in microseconds so far. */
  readEach(): number[]
}

async function openPlain(stage: Stage): Promise<string> {
  const programs = findSystemPostgres()
  if (!programs) throw new Error('The system has no PostgreSQL to stand beside.')
  const server = await openSystemServer(programs, {})
  stage.owns(() => server.close())
  const db = openDatabase({ connectionString: server.url, connections: 1 })
  await db.script('CREATE DATABASE countersign')
  await db.close()
  return server.url.replace('/postgres?', '/countersign?')
}

async function openCitus(stage: Stage, url: string): Promise<string> {
  const name = `bench_${randomBytes(6).toString('hex')}`
  await createDatabase(url, name)
  stage.owns(() => dropDatabase(url, name))
  return atDatabase(url, name)
}

async function openSide(stage: Stage, databaseUrl: string, servers: readonly string[]): Promise<Side> {
  const gateway = await startEmptyGateway(stage, { databaseUrl, env: { PROCESSES: '1' } })
  const pids = await Promise.all(servers.map(pidOf))
  const readEach = () => [gateway.pid, ...pids].map(readFamilyUs)
  return { gateway, readEach }
}

async function pidOf(url: string): Promise<number> {
  const db = openDatabase({ connectionString: url, connections: 1 })
  const pid = await findPostgresPid(db)
  await db.close()
  return pid
}

type Measure = () => Promise<number>

/** Microseconds of a delivery. */
async function openDeliveries(
  { gateway, readEach }: Side,
  receiver: Receiver,
  shape: (typeof shapes)[number],
) {
  const branchIds: number[] = []
  for (let branch = 0; branch < shape.branches; branch++)
    branchIds.push(
      await gateway.makeBranch(
        Array.from({ length: shape.webhooks }, (_, i) => `${receiver.origin}/${branch}/${i}`),
      ),
    )
  const publisher = await gateway.makePublisher()
  const perBranch = shape.branches === 1 ? shape.events : 100
  const count = shape.branches * shape.webhooks * perBranch
  return async () => {
    const before = readEach()
    const all = Array.from({ length: perBranch }, () => branchIds.map((id) => makeEvent(id))).flat()
    const publish = async () => {
      for (let some = all.splice(0, 200); some.length > 0; some = all.splice(0, 200))
        await send(gateway.internal, publishRequest(publisher, some))
    }
    await Promise.all([...Array.from({ length: publishers }, publish), receiver.awaitMore(count)])
    // What arrived last is written down.
    await wait(500)
    const each = readEach().map((us, place) => (us - before[place]!) / count)
    process.stderr.write(`  ${each.map((us) => us.toFixed(0)).join(' + ')}\n`)
    return each.reduce((sum, us) => sum + us, 0)
  }
}

/**
 * Microseconds that the session of a publisher takes for a transaction that writes a row of the brokerage's and
 * publishes an event.
 */
async function openTransactions({ gateway }: Side, url: string, stage: Stage): Promise<Measure> {
  const branchId = await gateway.makeBranch([])
  const db = openDatabase({ connectionString: url, connections: 1 })
  stage.owns(() => db.close())
  await db.script('CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text)')
  const [session] = await ask<{ pid: number }>(db, 'SELECT pg_backend_pid() AS pid')
  const body = (id: number) =>
    `{"transactionId":${id},"clearingAccount":"1","type":"TRANSACTION","action":"SUBMITTED","branchId":${branchId},"email":"a@example.com","amount":5,"direction":"DEPOSIT"}`
  let id = 0
  return async () => {
    const before = readProcessUs(session!.pid)
    for (let done = 0; done < transactions; done++) {
      id++
      await db.transaction(async (sql) => {
        await ask(sql, `INSERT INTO orders (note) VALUES ('x')`)
        await ask(sql, `SELECT publish_event('live', $1, 'TRANSACTION', 'SUBMITTED', $2, $3)`, [
          ...[branchId, String(id), body(id)],
        ])
      })
    }
    return (readProcessUs(session!.pid) - before) / transactions
  }
}

/** Milliseconds from a publisher's request to the receiver, one at a time. */
async function openLone({ gateway }: Side, receiver: Receiver): Promise<Measure> {
  const branchId = await gateway.makeBranch([`${receiver.origin}/lone`])
  const publisher = await gateway.makePublisher()
  return async () => {
    const took: number[] = []
    for (let done = 0; done < loneEvents; done++) {
      const started = performance.now()
      await Promise.all([
        send(gateway.internal, publishRequest(publisher, [makeEvent(branchId)])),
        receiver.awaitMore(1),
      ])
      took.push(performance.now() - started)
      await wait(20)
    }
    return median(took)
  }
}

async function compare(name: string, unit: string, limit: number, [plain, citus]: [Measure, Measure]) {
  const [here, there]: [number[], number[]] = [[], []]
  await plain()
  await citus()
  for (let round = 0; round < rounds; round++) {
    here.push(await plain())
    there.push(await citus())
  }
  const ratio = median(there) / median(here)
  const figures = `${median(here).toFixed(1)} and ${median(there).toFixed(1)} ${unit}`
  process.stdout.write(
    `${name}: ${figures}, ${ratio.toFixed(2)} (at most ${limit}) ${ratio <= limit ? 'reached' : 'MISSED'}\n`,
  )
}

const url = process.env.CITUS_URL
if (url === undefined)
  throw new Error('Set CITUS_URL to the coordinator, such as postgresql://postgres@127.0.0.1:5432/postgres')
const stage = openStage()
try {
  const receiver = await startReceiver(stage)
  const plainUrl = await openPlain(stage)
  const citusUrl = await openCitus(stage, url)
  const plain = await openSide(stage, plainUrl, [plainUrl])
  const citus = await openSide(stage, citusUrl, await findServers(citusUrl))
  for (const shape of shapes)
    await compare(shape.name, 'µs', shape.limit, [
      await openDeliveries(plain, receiver, shape),
      await openDeliveries(citus, receiver, shape),
    ])
  await compare('a transaction with one event', 'µs', 1.25, [
    await openTransactions(plain, plainUrl, stage),
    await openTransactions(citus, citusUrl, stage),
  ])
  await compare('a lone event, p50', 'ms', 2, [
    await openLone(plain, receiver),
    await openLone(citus, receiver),
  ])
} finally {
  await stage.close()
}
