/** A gateway with its private PostgreSQL that is killed while it works, and what it has promised by then. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Demo } from '../../../src/demo/demo.ts'
import { type Answer, send } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type Credentials,
  checkRuns,
  endGateway,
  exchange,
  findPostmaster,
  type GatewayProcess,
  makeFolder,
  obtainCode,
  readDemo,
  readProfile,
  refresh,
  revoke,
  signIn,
  startGateway,
} from '../../support/process.ts'

const settings = { DATA_DIR: makeFolder() }
export const dataDir = settings.DATA_DIR

export let gateway: GatewayProcess
export let demo: Demo
export let client: Credentials
export let refreshToken: string
const recoveries: Record<string, number[]> = {}

before(async () => {
  gateway = await startGateway(settings)
  demo = await readDemo(gateway, dataDir)
  client = { id: demo.clientId, secret: demo.clientSecret }
  const browser = await signIn(gateway.baseUrl, demo)
  const answer = await exchange(gateway.baseUrl, client, await obtainCode(browser, client.id))
  refreshToken = answer.json<{ refresh_token: string }>().refresh_token
})
after(() => endGateway(gateway))

/** A test that left the gateway in pieces fails alone. */
beforeEach(async () => {
  if (await isReady().catch(() => false)) return
  gateway.kill('SIGKILL')
  await startAgain()
})

/**
 * What the gateway has promised. A request without an answer promises nothing, so its token is on neither
 * list.
 */
const promised = { living: new Set<string>(), revoked: new Set<string>() }
export const checked = { living: new Set<string>(), revoked: new Set<string>() }

/** Refreshes, and revokes every third token, until told to stop or cut off. */
async function keepWriting(stop: AbortSignal, acknowledged: () => void, refused: (answer: Answer) => void) {
  for (let turn = 0; !stop.aborted; turn++) {
    const answer = await refresh(gateway.baseUrl, client, refreshToken)
    if (answer.status !== 200) {
      refused(answer)
      await wait(25)
      continue
    }
    const token = answer.json<{ access_token: string }>().access_token
    promised.living.add(token)
    acknowledged()
    if (turn % 3 !== 0) continue
    promised.living.delete(token)
    if ((await revoke(gateway.baseUrl, client, token)).status === 200) promised.revoked.add(token)
  }
}

/**
 * Kills in the middle of writes, once this many have been acknowledged. Answers the requests that were
 * refused.
 */
async function killWhileWriting(
  kill: () => void,
  recover: () => Promise<void>,
  writes = 10,
): Promise<Answer[]> {
  const stop = new AbortController()
  const refusals: Answer[] = []
  let acknowledged = 0
  const count = () => acknowledged++
  const keep = (answer: Answer) => refusals.push(answer)
  const cutOff = () => {}
  const writers = Array.from({ length: 4 }, () => keepWriting(stop.signal, count, keep).catch(cutOff))
  try {
    await eventually(`${writes} acknowledged writes`, () => acknowledged >= writes)
    kill()
    await recover()
  } finally {
    stop.abort()
    await Promise.all(writers)
  }
  return refusals
}

async function checkPromises(): Promise<void> {
  await Promise.all([checkStatus(promised.living, 200), checkStatus(promised.revoked, 401)])
  for (const kind of ['living', 'revoked'] as const) {
    for (const token of promised[kind]) checked[kind].add(token)
    promised[kind].clear()
  }
}

export async function checkAllPromisesSoFar(): Promise<void> {
  assert.ok(checked.living.size >= 10 && checked.revoked.size >= 2, 'there is something to check')
  await Promise.all([checkStatus(checked.living, 200), checkStatus(checked.revoked, 401)])
}

async function checkStatus(tokens: ReadonlySet<string>, expected: 200 | 401): Promise<void> {
  for (const token of tokens) {
    const { status } = await readProfile(gateway.baseUrl, token)
    assert.equal(
      status,
      expected,
      expected === 200 ? 'an acknowledged token works' : 'an acknowledged revocation holds',
    )
  }
}

export async function measured(what: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await work()
  recoveries[what] = [...(recoveries[what] ?? []), Math.round(performance.now() - startedAt)]
}

export const isReady = () => send(`${gateway.baseUrl}/readyz`).then((answer) => answer.status === 200)

/** In this order: a server whose gateway is gone ends by itself, and may have done so already. */
export function killBoth(postmaster: number): void {
  process.kill(postmaster, 'SIGKILL')
  gateway.kill('SIGKILL')
}

export async function startAgain(): Promise<void> {
  await gateway.ended
  gateway = await startGateway(settings)
}

export function report(what: string): string {
  const times = recoveries[what]!.toSorted((left, right) => left - right)
  return `${what}: median ${times[Math.floor(times.length / 2)]} ms, worst ${times.at(-1)} ms, ${times.length} times`
}

/** In the middle of writes, so many times each. */
export function testKills(rounds: number): void {
  test('every acknowledged write survives kill -9 of the gateway again and again', async (context) => {
    for (let round = 0; round < rounds; round++) {
      await killWhileWriting(
        () => gateway.kill('SIGKILL'),
        () => measured('from kill -9 of the gateway to the next one ready', startAgain),
      )
      await checkPromises()
    }
    await checkAllPromisesSoFar()
    context.diagnostic(report('from kill -9 of the gateway to the next one ready'))
  })

  test('every acknowledged write survives kill -9 of the private PostgreSQL again and again', async (context) => {
    const { pid } = gateway
    for (let round = 0; round < rounds; round++) {
      const postmaster = findPostmaster(dataDir)!
      const refusals = await killWhileWriting(
        () => process.kill(postmaster, 'SIGKILL'),
        () =>
          measured('from kill -9 of PostgreSQL to ready again', async () => {
            await eventually('a new PostgreSQL', () => {
              checkRuns(gateway)
              return ![undefined, postmaster].includes(findPostmaster(dataDir))
            })
            await eventually('ready again', isReady)
          }),
      )
      for (const { status, headers } of refusals) {
        assert.equal(status, 503, 'whoever cannot be served is told to come back')
        assert.ok(Number(headers['retry-after']) > 0)
      }
      await checkPromises()
    }
    await checkAllPromisesSoFar()
    assert.equal(gateway.pid, pid, 'the gateway itself has lived through all of it')
    context.diagnostic(report('from kill -9 of PostgreSQL to ready again'))
  })

  test('every acknowledged write survives kill -9 of both at once again and again', async (context) => {
    for (let round = 0; round < rounds; round++) {
      const postmaster = findPostmaster(dataDir)!
      await killWhileWriting(
        () => killBoth(postmaster),
        () => measured('from kill -9 of both to ready', startAgain),
      )
      await checkPromises()
    }
    await checkAllPromisesSoFar()
    context.diagnostic(report('from kill -9 of both to ready'))
  })
}
