/**
 * A process that stands still and goes on, as a virtual machine does that is moved. What it sends of what it
 * remembers: test/delivery/lease.long.ts.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { entities, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { gate } from '../support/receiver.ts'

/** Longer than an attempt may take. */
const standstillMs = 12_000

test('attempts that were answered while their process stood still are judged by the answer, and nothing is sent twice', async (t) => {
  const engine = await openEngine({ ROLES: 'api' })
  t.after(() => engine.close())
  const { receiver } = engine
  const webhooks = await Promise.all(['/a', '/b', '/c'].map((path) => engine.makeWebhook(path)))
  const held = gate()
  receiver.otherwise = held.behaviour
  const env = {
    ...engine.house.settings,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    ROLES: 'worker',
  }
  const worker = spawn(process.execPath, ['src/cli/main.ts', 'serve'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(worker, 'exit')
  t.after(() => {
    worker.kill('SIGKILL')
    return ended
  })
  await engine.publish(...entities(10))
  await receiver.wait(30)
  worker.kill('SIGSTOP')
  held.open()
  await wait(standstillMs)
  worker.kill('SIGCONT')
  const attempts = async () => (await Promise.all(webhooks.map((webhook) => engine.attempts(webhook)))).flat()
  await eventually('all of them written down', async () => (await attempts()).length >= 30)
  assert.deepEqual(
    new Set((await attempts()).map(({ outcome, number }) => `${outcome} ${number}`)),
    new Set(['accepted 1']),
  )
  assert.equal(receiver.received.length, 30)
  for (const webhook of webhooks) assert.equal((await engine.cursor(webhook)).failures, 0)
})
