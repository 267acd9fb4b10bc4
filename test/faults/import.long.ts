/**
 * An import that is cut ten times at random places, by its sender and by kill -9 of the node, ends with the
 * same rows as one that was not.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { after, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import {
  getImport,
  type Import,
  listImports,
  readImport,
  startImport,
} from '../../src/provisioning/import.ts'
import { finishImport } from '../../src/provisioning/snapshot.ts'
import { createService } from '../../src/services/service.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { basic, operatorAct } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { endGateway, type GatewayProcess, startGateway } from '../support/process.ts'
import { readSource } from '../support/provisioning.ts'

const cuts = 10
const [cutHouse, wholeHouse] = [await openTestDatabase(), await openTestDatabase()]
const [cut, whole] = [cutHouse, wholeHouse].map(({ url }) =>
  openLenientDatabase({ connectionString: url, connections: 2 }),
) as [Database, Database]
after(async () => {
  await Promise.all([cut.close(), whole.close()])
  await Promise.all([cutHouse.close(), wholeHouse.close()])
})

/**
 * Customers who come, change and go, with accounts that come late: what is read twice, or not at all, would
 * show.
 */
function* describe(households: number): Generator<object> {
  for (let n = 0; n < households; n++) {
    yield {
      kind: 'holding',
      customer: `C${n}`,
      account: `A${n}`,
      role: n % 3 ? 'owner' : 'joint',
      version: 1,
    }
    yield { kind: 'customer', externalId: `C${n}`, name: `Name ${n}`, version: 1 }
    if (n % 4 === 0) yield { kind: 'customer', externalId: `C${n - 8}`, name: `Changed ${n}`, version: 2 }
    if (n % 7 === 0) yield { op: 'remove', kind: 'customer', externalId: `C${n - 70}`, version: 3 }
    yield { kind: 'account', externalId: `A${n}`, number: `NUM${n}X`, type: 'cash', version: 1 }
    if (n % 11 === 0)
      yield { kind: 'account', externalId: `A${n}`, number: `TAKEN${n}`, type: 'cash', version: 2 }
  }
}

const lines = [...describe(9_000)].map((each) => `${JSON.stringify(each)}\n`)

async function* streamOf(all: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(all.join(''))
}

test('an import cut ten times at random, by its sender and by kill -9, ends with the same rows as one that was not cut', async () => {
  const settings = { DATABASE_URL: cutHouse.url, SECRET_KEY: randomBytes(32).toString('hex') }
  const { service, secret } = await createService(cut, 'core', 'live', operatorAct(new Date()), {
    mayProvision: ['core'],
  })
  const headers = {
    ...basic({ id: service.id, secret: secret.text }),
    'content-type': 'application/x-ndjson',
  }
  let gateway: GatewayProcess = await startGateway(settings)
  const newest = async (): Promise<Import | undefined> => (await listImports(cut, 1))[0]

  /**
   * Sends what is left, and is cut somewhere in it; with nothing to cut by, to the end. Cut, it answers
   * whether it was: somebody may have refused it before.
   */
  const sendRest = async (end: 'sender' | 'kill' | undefined, share: number) => {
    const known = await newest()
    const left = Buffer.from(lines.slice(known?.lines ?? 0).join(''))
    if (end !== undefined) assert.ok(left.length > 0, 'there is something to cut')
    const path = known ? `/${known.id}?after=${known.lines}` : ''
    const sent = request(`${gateway.internalUrl}/internal/v1/imports${path}`, {
      method: known ? 'PATCH' : 'POST',
      headers,
    })
    const status = new Promise<number | undefined>((resolve) => {
      sent.on('error', () => resolve(undefined))
      sent.on('close', () => resolve(undefined))
      sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
    })
    if (end === undefined) {
      sent.end(left)
      return status
    }
    const half = left.subarray(0, Math.ceil(left.length * share))
    // Until the node has taken it, or as much of it as makes a batch: what it has not taken is lost with the
    // cut.
    const taken = new Promise<false>((resolve) => sent.write(half, () => resolve(false)))
    let isCut = false
    const committed = eventually(
      'a batch is committed',
      async () => isCut || ((await newest())?.lines ?? 0) > (known?.lines ?? 0),
    ).then(() => false)
    const wasRefused = await Promise.race([taken, committed, status.then((answer) => answer !== undefined)])
    isCut = true
    if (end === 'sender' || wasRefused) sent.destroy()
    else gateway.kill('SIGKILL')
    await status
    if (end === 'kill' && !wasRefused) {
      await gateway.ended
      gateway = await startGateway(settings)
    }
    // What the node was about when it was cut is over before the next one asks how far it came.
    await eventually('nobody works on the import', isStill)
    return !wasRefused
  }
  const isStill = async () => {
    const before = await newest()
    const [row] = await ask<{ busy: number }>(
      cut,
      `SELECT count(*) AS busy FROM pg_stat_activity WHERE datname = current_database()
        AND state <> 'idle' AND pid <> pg_backend_pid()
             AND (query LIKE '%merge_records%' OR query LIKE '%imports%')`,
    )
    return row!.busy === 0 && (await newest())?.lines === before?.lines
  }

  for (let n = 0; n < cuts; n++)
    await eventually(`cut ${n + 1}`, () =>
      sendRest(n % 2 === 0 ? 'sender' : 'kill', (2 * Math.random()) / (cuts + 1 - n)).then(
        (cut) => cut === true,
      ),
    )
  // Whoever was faster than its own cut has gone on meanwhile: the last line says where to begin.
  await eventually(
    'the rest is taken',
    async () => (await sendRest(undefined, 1)) !== 409 || (await newest())!.state !== 'running',
  )
  await endGateway(gateway)

  const act = operatorAct(new Date())
  const draft = { source: 'core', environment: 'live', mode: 'changes', dryRun: false } as const
  const read = await readImport(whole, await startImport(whole, draft, act), streamOf(lines), {
    act: () => act,
  })
  const expected = await finishImport(whole, read, 1, act)
  const ended = await getImport(cut, (await newest())!.id)
  assert.deepEqual([ended.state, ended.lines, ended.failed], ['finished', lines.length, expected.failed])
  assert.deepEqual(await readSource(cut), await readSource(whole))
})
