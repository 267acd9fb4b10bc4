/** `countersign doctor`: every finding a line, with what to do below it, and code 1 when something failed. */
import { styleText } from 'node:util'
import type { Clock } from '../clock.ts'
import { examine } from '../doctor/doctor.ts'
import type { Result } from '../doctor/finding.ts'
import type { Config } from '../settings/config.ts'
import { escapeLines } from '../text/printable.ts'

/** Answers the exit code. */
export async function runDoctor(
  readConfig: () => Config,
  clock: Clock,
  json: boolean,
  out: NodeJS.WriteStream = process.stdout,
): Promise<number> {
  const results = await examine(readConfig, clock)
  const failed = results.some(({ state }) => state === 'fail')
  out.write(
    json
      ? `${escapeLines(JSON.stringify({ healthy: !failed, checks: results }, null, 2))}\n`
      : printResults(results),
  )
  return failed ? 1 : 0
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'gray' } as const

function printResults(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ check }) => check.length))
  const lines = results.map((result) => {
    const state = styleText(colours[result.state], result.state.padEnd(9), { stream: process.stdout })
    const line = `${state}${result.check.padEnd(width + 2)}${escapeLines(result.found)}`
    return 'advice' in result ? `${line}\n${' '.repeat(9 + width + 2)}→ ${escapeLines(result.advice)}` : line
  })
  return `${lines.join('\n')}\n`
}
