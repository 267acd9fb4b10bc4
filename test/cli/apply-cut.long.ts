/** `countersign apply` beside another, and cut off: each document is one act of the gateway, whatever becomes of the command. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { openAdminProgram } from '../support/administration.ts'
import { clientOf, finishWith, folderOf, listOf, owner, partnersOf, runWith } from '../support/documents.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'

const house = await openHouse()
const program = await openAdminProgram(house)
const finish = (words: readonly string[], by = program, url?: string) => finishWith(by, words, url)
const namesOf = (label: string, kind?: string) => listOf(program, label, kind)

/** Passes on what it is asked, when `admit` lets it, and the answer when `release` does. */
async function openPassage(
  to: string,
  {
    admit = async () => {},
    release = async () => {},
  }: { admit?(asked: IncomingMessage): Promise<void>; release?(asked: IncomingMessage): Promise<void> },
) {
  const pass = async (asked: IncomingMessage, reply: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of asked) chunks.push(chunk as Buffer)
    await admit(asked)
    const {
      host: _,
      connection: __,
      'content-length': ___,
      'transfer-encoding': ____,
      ...headers
    } = asked.headers
    const answer = await request(to + asked.url, {
      method: asked.method as 'GET',
      headers: headers as Record<string, string>,
      body: chunks.length === 0 ? null : Buffer.concat(chunks),
    })
    const body = await answer.body.text()
    await release(asked)
    reply.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(body)
  }
  const server = createServer((asked, reply) => {
    pass(asked, reply).catch(() => reply.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return keepOpen({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
    },
  })
}

const isAct = ({ method, url }: IncomingMessage) => method === 'PUT' && !url!.includes('dryRun=true')

test('of two that apply at once one wins, and the other ends with what moved', async () => {
  const label = owner()
  const base = folderOf([...partnersOf(label, 1), clientOf(`${label}-0`)])
  assert.equal((await finish(['apply', '-f', base, '--yes'])).code, 0)
  const variants = ['One', 'Two'].map((displayName) =>
    folderOf([...partnersOf(label, 1), clientOf(`${label}-0`, { displayName })]),
  )
  let arrived = 0
  const both = Promise.withResolvers<void>()
  const admit = async (asked: IncomingMessage) => {
    if (!isAct(asked)) return
    arrived += 1
    if (arrived === 2) both.resolve()
    await both.promise
  }
  const passage = await openPassage(program.url, { admit })
  const ends = await Promise.all(
    variants.map((each) => finish(['apply', '-f', each, '--yes'], program, passage.url)),
  )
  const [won, lost] = ends.sort((one, other) => one.code! - other.code!)
  assert.deepEqual([won!.code, lost!.code], [0, 1], won!.text + lost!.text)
  assert.match(
    lost!.stderr,
    /house\.yaml:\d+ \(document 2\): client .* was changed meanwhile .*: spec\.displayName/,
  )
  assert.match(lost!.stderr, /Done before it: 0; left: 1/)
})

test('of two that make the same at once one wins, and the other is told', async () => {
  const label = owner()
  let arrived = 0
  const both = Promise.withResolvers<void>()
  const admit = async (asked: IncomingMessage) => {
    if (!isAct(asked)) return
    arrived += 1
    if (arrived === 2) both.resolve()
    await both.promise
  }
  const passage = await openPassage(program.url, { admit })
  const folder = folderOf(partnersOf(label, 1))
  const ends = await Promise.all(
    [1, 2].map(() => finish(['apply', '-f', folder, '--yes'], program, passage.url)),
  )
  assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1])
  assert.equal((await namesOf(label)).length, 1)
  assert.equal((await finish(['diff', '-f', folder])).code, 0)
})

for (const [when, point] of [
  ['before an act is asked for', 'admit'],
  ['before an act is answered', 'release'],
] as const)
  test(`killed ${when}, every document is whole or untouched, and the next apply finishes`, async () => {
    const label = owner()
    const documents = [...partnersOf(label, 5), clientOf(`${label}-0`), clientOf(`${label}-1`)]
    const folder = folderOf(documents)
    let acts = 0
    const third = Promise.withResolvers<void>()
    const never = new Promise<void>(() => {})
    const passage = await openPassage(program.url, {
      async [point](asked: IncomingMessage) {
        if (!isAct(asked)) return
        acts += 1
        if (acts < 3) return
        third.resolve()
        await never
      },
    })
    const killed = runWith(program, ['apply', '-f', folder, '--yes'], passage.url)
    await third.promise
    killed.kill('SIGKILL')
    assert.equal((await killed.ended).signal, 'SIGKILL')
    const made = await namesOf(label)
    assert.equal(made.length, point === 'admit' ? 2 : 3)
    for (const { name, spec } of made) {
      const document = documents.find((each) => each.name === name)!
      assert.equal(spec.displayName, document.spec.displayName)
    }
    const next = await finish(['apply', '-f', folder, '--yes'])
    assert.equal(next.code, 0, next.text)
    assert.equal((await finish(['diff', '-f', folder])).code, 0)
  })
