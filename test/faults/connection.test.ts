/**
 * A connection to PostgreSQL may end at any moment, also while it changes hands: whoever held it hears of it,
 * and nobody else.
 */

import assert from 'node:assert/strict'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type Database, DatabaseUnavailable, openDatabase } from '../../src/database/database.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { makeFolder } from '../support/process.ts'

/**
 * Stands between a pool and PostgreSQL, and can hold back what PostgreSQL says, to pass it on in one piece.
 */
interface Relay {
  readonly url: string
  /** How many of the pool's connections the pool has not closed. */
  readonly open: number
  hold(): void
  pass(): void
  /** Connections of this moment carry nothing more, as in a network that forgot them. */
  forget(): void
  close(): Promise<void>
}

async function openRelay(url: string): Promise<Relay> {
  const folder = makeFolder()
  const target = join(decodeURIComponent(/host=([^&]*)/.exec(url)![1]!), '.s.PGSQL.5432')
  const pairs = new Set<{ client: Socket; held: Buffer[]; isOver: boolean; isForgotten: boolean }>()
  let holding = false
  const server: Server = createServer((client) => {
    const upstream = connect(target)
    const pair = { client, held: [] as Buffer[], isOver: false, isForgotten: false }
    pairs.add(pair)
    client
      .on('error', () => {})
      .on('close', () => {
        upstream.destroy()
        pairs.delete(pair)
      })
    client.pipe(upstream)
    upstream
      .on('error', () => {})
      .on('data', (chunk) => {
        if (pair.isForgotten) return
        if (holding) pair.held.push(chunk)
        else client.write(chunk)
      })
    upstream.on('close', () => {
      pair.isOver = true
      client.resume()
      if (!holding) client.end()
    })
  })
  await new Promise<void>((listening) => server.listen(join(folder, '.s.PGSQL.5432'), listening))
  return {
    url: url.replace(/host=[^&]*/, `host=${encodeURIComponent(folder)}`),
    get open() {
      return pairs.size
    },
    hold() {
      holding = true
    },
    pass() {
      holding = false
      for (const { client, held, isOver } of pairs) {
        client.write(Buffer.concat(held.splice(0)))
        if (isOver) client.end()
      }
    },
    forget() {
      for (const pair of pairs) {
        pair.isForgotten = true
        pair.held.length = 0
      }
    },
    close: () => new Promise((closed) => void server.close(() => closed())),
  }
}

let database: TestDatabase
let direct: Database
let relay: Relay
let db: Database

before(async () => {
  database = await openTestDatabase()
  direct = openDatabase({ connectionString: database.url, connections: 1 })
  relay = await openRelay(database.url)
})
after(async () => {
  await db?.close()
  await direct?.close()
  await relay?.close()
  await database?.close()
})
beforeEach(async () => {
  await db?.close()
  await eventually(
    'those of the last test are gone',
    async () => (await askDirectly(`SELECT state ${others}`)).length === 0,
  )
  db = openDatabase({ connectionString: relay.url, connections: 1, connectTimeoutMs: 60_000 })
})

const others =
  "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
const askDirectly = (text: string) => ask<{ state: string | null; query: string }>(direct, text)

/** Ends the relayed connection when it has answered this statement, and waits until it is gone. */
async function terminateAfter(query: string): Promise<void> {
  await eventually(`"${query}" is answered`, async () => {
    const rows = await askDirectly(`SELECT state, query ${others}`)
    return rows.some((row) => row.query === query && row.state?.startsWith('idle'))
  })
  await askDirectly(`SELECT pg_terminate_backend(pid)::text AS state ${others}`)
  await eventually('it is gone', async () => (await askDirectly(`SELECT state ${others}`)).length === 0)
}

/** Long enough for whatever is answered, on a busy machine too. */
const briefMs = 1_000

const away = (error: unknown) => error instanceof DatabaseUnavailable

const works = async () => assert.deepEqual(await ask(db, 'SELECT 1 AS one'), [{ one: 1 }])

test('a connection that ends as one statement hands it to the next transaction costs that transaction at most', async () => {
  await works()
  relay.hold()
  const first = ask(db, 'SELECT 2 AS two')
  const second = db
    .transaction((sql) => ask(sql, 'SELECT 3 AS three'))
    .catch((error: unknown) => assert.ok(away(error)))
  await terminateAfter('SELECT 2 AS two')
  relay.pass()
  assert.deepEqual(await first, [{ two: 2 }], 'its answer had come')
  assert.deepEqual(
    (await second) ?? [{ three: 3 }],
    [{ three: 3 }],
    'refused as away, or done on another connection',
  )
  await works()
})

test('a connection that ends in the moment it is opened costs whoever asked for it, not the process', async () => {
  relay.hold()
  const refused = assert.rejects(
    db.transaction((sql) => ask(sql, 'SELECT 3')),
    away,
  )
  await terminateAfter('')
  relay.pass()
  await refused
  await works()
})

test('a connection that ends between two statements of a transaction costs the transaction, which is undone', async () => {
  await direct.script('CREATE TABLE kept (n integer)')
  const asked = db.transaction(async (sql) => {
    await sql.script('INSERT INTO kept VALUES (1)')
    await terminateAfter('INSERT INTO kept VALUES (1)')
    await sql.script('INSERT INTO kept VALUES (2)')
  })
  await assert.rejects(asked, away)
  assert.deepEqual(await ask(db, 'SELECT FROM kept'), [])
})

test('a connection that ends with the last answer of a transaction is not used again', async () => {
  await db.transaction(async (sql) => {
    await ask(sql, 'SELECT 1')
  })
  await terminateAfter('COMMIT')
  await eventually('the pool knows', () => relay.open === 0)
  await works()
})

test('a listener that loses its connection says so once', async () => {
  let lost = 0
  const listener = await db.listen(
    'somewhere',
    () => {},
    () => lost++,
  )
  await terminateAfter('LISTEN "somewhere"')
  await eventually('it is noticed', () => lost > 0)
  await assert.rejects(listener.ping(1_000))
  await works()
  assert.equal(lost, 1)
})

test('after a statement that got no answer, connections that fell silent with it are all replaced', async () => {
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 3, answerTimeoutMs: briefMs })
  await Promise.all([works(), works(), works()])
  assert.equal(relay.open, 3)
  relay.hold()
  await assert.rejects(ask(db, 'SELECT 4'), away)
  relay.forget()
  relay.pass()
  await works()
  await eventually('the silent connections are closed', () => relay.open === 1)
})

test('after a statement that only took too long, the other connections go on', async () => {
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 2, answerTimeoutMs: briefMs })
  const backend = (pause = '') =>
    ask<{ pid: number }>(db, `SELECT pg_backend_pid() AS pid ${pause}`).then((rows) => rows[0]!.pid)
  const both = await Promise.all([backend(', pg_sleep(0.05)'), backend(', pg_sleep(0.05)')])
  await assert.rejects(backend(', pg_sleep(60)'), away)
  const next = await Promise.all([backend(', pg_sleep(0.05)'), backend(', pg_sleep(0.05)')])
  assert.equal(next.filter((pid) => both.includes(pid)).length, 1)
})

test('a transaction that gets no answer fails in time and is undone', async () => {
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 1, answerTimeoutMs: briefMs })
  await direct.script('CREATE TABLE silenced (n integer)')
  await assert.rejects(
    db.transaction(async (sql) => {
      await sql.script('INSERT INTO silenced VALUES (1)')
      relay.hold()
      await ask(sql, 'SELECT 5')
    }),
    away,
  )
  relay.pass()
  await works()
  assert.deepEqual(await askDirectly('SELECT FROM silenced'), [])
})

test('a statement that takes too long is ended by the server, and is as if the database were away', async () => {
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 1, answerTimeoutMs: 20_000 })
  const [limit] = await ask<{ statement_timeout: string }>(db, 'SHOW statement_timeout')
  assert.equal(limit!.statement_timeout, '18s', 'a little less than its client waits')
  const slow = db.transaction(async (sql) => {
    await sql.script('SET LOCAL statement_timeout = 20')
    await ask(sql, 'SELECT pg_sleep(60)')
  })
  await assert.rejects(slow, (error) => {
    assert.ok(error instanceof DatabaseUnavailable)
    assert.equal((error.cause as { code?: string }).code, '57014')
    return true
  })
  await works()
})

test('a statement that the client gave up on does not go on on the server', async () => {
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 1, answerTimeoutMs: briefMs })
  await works()
  relay.hold()
  await assert.rejects(ask(db, 'SELECT pg_sleep(60), 17'), away)
  const running = `SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60), 17' AND state = 'active'`
  await eventually('it has ended', async () => (await askDirectly(running)).length === 0, 30_000)
  relay.pass()
})

test('what may take its time has no limit on the server either, whatever its database says', async () => {
  await direct.script(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 50', current_database()); END $$`,
  )
  await db.close()
  db = openDatabase({ connectionString: relay.url, connections: 1 })
  await works()
  const [limit] = await ask<{ statement_timeout: string }>(db, 'SHOW statement_timeout')
  await direct.script(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET statement_timeout', current_database()); END $$`,
  )
  assert.equal(limit!.statement_timeout, '0')
})

test('a listener that is silent is closed by the ping that gets no answer', async () => {
  let lost = 0
  const listener = await db.listen(
    'elsewhere',
    () => {},
    () => lost++,
  )
  await listener.ping(60_000)
  relay.hold()
  await assert.rejects(listener.ping(100), away)
  relay.pass()
  assert.equal(lost, 1)
})

test('a statement that is refused leaves its connection in use', async () => {
  const backend = async () => (await ask(db, 'SELECT pg_backend_pid() AS pid'))[0]
  const before = await backend()
  await assert.rejects(ask(db, 'SELECT 1 / 0'), /division/)
  await assert.rejects(
    db.transaction((sql) => ask(sql, 'SELECT 1 / 0')),
    /division/,
  )
  assert.deepEqual(await backend(), before)
})

test('a statement behind a thousand that wait for a connection is turned away at once', async () => {
  const { release, taken } = await holdTheConnection()
  const waiting = Array.from({ length: 1_000 }, () => ask(db, 'SELECT 6 AS six'))
  await eventually('a thousand wait', () => db.load().waiting === 1_000)
  await assert.rejects(ask(db, 'SELECT 7'), away)
  release()
  await taken
  assert.equal((await Promise.all(waiting)).length, 1_000)
})

async function holdTheConnection(): Promise<{ release: () => void; taken: Promise<void> }> {
  const held = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  const taken = db.transaction(async () => {
    isHeld.resolve()
    await held.promise
  })
  await isHeld.promise
  return { release: held.resolve, taken }
}
