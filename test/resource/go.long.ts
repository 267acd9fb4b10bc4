/** The recipe in Go (resource/go/main.go): it holds what the library holds. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { postForm, send } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { newFolder } from '../support/folder.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { openHeldWire } from '../support/held-wire.ts'
import { skipWithout } from '../support/installed.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openHolder } from '../support/oauth.ts'
import { makeService } from '../support/resource.ts'

const skip = skipWithout('go', 'version')

/** Runs it, built from its one file without a module. */
async function startProgram(env: Record<string, string>): Promise<{ url: string; lines: string[] }> {
  const program = join(newFolder('go'), 'resource')
  const source = new URL('../../resource/go/main.go', import.meta.url).pathname
  const built = spawnSync('go', ['build', '-o', program, source], {
    env: {
      ...process.env,
      GOFLAGS: '',
      GOPROXY: 'off',
      GOCACHE: process.env.GOCACHE ?? join(tmpdir(), 'countersign-go-build'),
      GOTOOLCHAIN: 'local',
    },
    encoding: 'utf8',
  })
  assert.equal(built.status, 0, built.stderr)
  const child: ChildProcess = spawn(program, [], {
    env: { ...env, LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  after(async () => {
    const ended = once(child, 'exit')
    child.kill()
    await ended
  })
  const lines: string[] = []
  createInterface(child.stderr!).on('line', (line) => lines.push(line))
  const url = await eventually('it listens', () => /listening on (\S+)/.exec(lines.join('\n'))?.[1])
  return { url, lines }
}

test('a Go program remembers, forgets with the announcement, and asks when it hears nothing', {
  skip,
}, async () => {
  const house = await openHouse()
  // The program has the time of this machine.
  house.clock.advance(Date.now() - house.clock.now().getTime())
  const client = await house.makeClient()
  const holder = await openHolder(house)
  const service = await makeService(house)
  const feed = await keepOpen(openHeldWire(house.internalUrl))
  const site = await keepOpen(openHeldWire(house.baseUrl))
  const { url, lines } = await startProgram({
    ISSUER: site.url,
    INTERNAL_URL: feed.url,
    SERVICE_ID: service.id,
    SERVICE_SECRET: service.secret,
  })
  await eventually('the feed is open', () => lines.some((line) => line.includes('feed opened')))
  const account = (await house.profile((await holder.tokens(client)).access_token)).json<{
    profile: { account: { account_number: string } }
  }>().profile.account.account_number
  const ask = (token: string, asked = account) =>
    send(`${url}/positions?account=${asked}`, { headers: { authorization: `Bearer ${token}` } })
  const revoke = (token: string) => postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(client))

  const { access_token } = await holder.tokens(client)
  const other = await holder.tokens(await house.makeClient(), { scope: 'market' })
  assert.equal((await ask(access_token)).status, 200)
  assert.equal((await ask(access_token, 'ANOTHER1')).status, 403)
  assert.equal((await ask('nothing')).status, 401)
  const lacking = await ask(other.access_token)
  assert.equal(lacking.status, 403)
  assert.match(String(lacking.headers['www-authenticate']), /error="insufficient_scope".* scope="read"/)

  // With nobody to ask it knows what it remembers, and of anything else that it cannot know.
  await site.pause()
  const last = await holder.tokens(client)
  await eventually('it answers from memory', async () => (await ask(access_token)).status === 200)
  assert.equal((await ask(last.access_token)).status, 503)
  site.resume()

  const told = lines.length
  await revoke(access_token)
  await eventually('the change is told', () => lines.slice(told).some((line) => line.includes('changed:')))
  assert.equal((await ask(access_token)).status, 401)

  assert.equal((await ask(last.access_token)).status, 200)
  await feed.pause()
  await eventually('the feed has ended', () => lines.some((line) => line.includes('feed ended')))
  await revoke(last.access_token)
  assert.equal((await ask(last.access_token)).status, 401)
})
