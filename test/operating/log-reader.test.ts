/** Whoever read the log is gone: a log collector that was restarted, a terminal that was closed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

const log = new URL('../../src/http/log.ts', import.meta.url).href

/** Writes when its standard input ends, which is when nobody reads its output any more, and ends. */
const program = `
  import { openLog, openOutput } from ${JSON.stringify(log)}
  const log = openLog('info', openOutput('info'))
  process.stdin.resume().on('end', () => {
    for (let line = 0; line < 10; line++) log.info({ line }, 'nobody reads this')
    process.exit(0)
  })`

test('a process whose log nobody reads any more ends when it is told to', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  child.stdout.destroy()
  await once(child.stdout, 'close')
  child.stdin.end()
  const [code] = await Promise.race([
    ended,
    new Promise<[string]>((late) => setTimeout(late, 30_000, ['it goes on']).unref()),
  ])
  assert.equal(code, 0)
})
