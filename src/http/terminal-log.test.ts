import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { printForTerminal } from './terminal-log.ts'

function lineOf(write: (log: pino.Logger) => void): string {
  let line = ''
  write(
    pino(
      { level: 'trace', base: null, timestamp: pino.stdTimeFunctions.isoTime },
      { write: (text) => (line = text) },
    ),
  )
  return line
}

test('a terminal shows no line a request or attempt, unless all are asked for', () => {
  for (const msg of ['request', 'attempt']) {
    const line = lineOf((log) => log.info({ status: 200 }, msg))
    assert.equal(printForTerminal(line, false), undefined)
    assert.match(printForTerminal(line, true)!, /^\d\d:\d\d:\d\d {2}(request|attempt) {2}status=200\n$/)
    assert.ok(
      printForTerminal(
        lineOf((log) => log.error({ status: 500 }, msg)),
        false,
      ),
    )
  }
})

test('everything else is a short line: when, how bad, what, and the fields', () => {
  const shown = (write: (log: pino.Logger) => void) => printForTerminal(lineOf(write), false)!
  assert.match(
    shown((log) => log.warn({ port: 8080, of: { a: 1 } }, 'taken')),
    /^\S+ {2}warn: taken {2}port=8080 {2}of=\{"a":1\}\n$/,
  )
  assert.match(
    shown((log) => log.error({ err: new Error('no') }, 'failed')),
    /^\S+ {2}error: failed\nError: no\n +at /,
  )
  assert.match(
    shown((log) => log.info('\x1b[2J')),
    /^\S+ {2}\\u001b\[2J\n$/,
  )
})
