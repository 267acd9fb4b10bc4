/** `npm run test:faults`: every scenario at full length, and its row of the table in docs/reliability.md. */
import { runScenario, type Verdict } from './run.ts'
import { scenarios } from './scenarios.ts'

const scale = { calmMs: 3_000, faultMs: 8_000, isFull: true, pauseMs: 15, waiting: 1_000_000 }
const resumeLimitMs = 15_000

const asked = process.argv[2]
const chosen = scenarios.filter(({ name }) => asked === undefined || name.includes(asked))

const print = (...cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)

print(
  'Fault',
  'Acknowledged: events, tokens, revocations',
  'Refused',
  'Received',
  'Duplicates',
  'Lost',
  'Resumed after',
)
print(...Array.from({ length: 7 }, () => '---'))
for (const scenario of chosen) {
  const verdict = await runScenario(scenario, scale)
  if (!verdict) {
    print(scenario.name, 'not possible here: only root can mount a small file system', '', '', '', '', '')
    continue
  }
  print(scenario.name, ...cellsOf(verdict))
  for (const problem of verdict.lost.slice(0, 10)) process.stderr.write(`  ${problem}\n`)
  if (verdict.lost.length > 0 || verdict.resumedAfterMs > resumeLimitMs) process.exitCode = 1
}

function cellsOf({ acknowledged, refusals, received, duplicates, lost, resumedAfterMs }: Verdict): string[] {
  const { events, tokens, revocations } = acknowledged
  const promised = [events, tokens, revocations].map((count) => count.toLocaleString('en')).join(', ')
  const counts = [refusals, received, duplicates].map((count) => count.toLocaleString('en'))
  return [promised, ...counts, String(lost.length), `${(resumedAfterMs / 1000).toFixed(1)} s`]
}
