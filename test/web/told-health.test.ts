import { test } from 'node:test'
import { openCommandLineAt } from '../cli/command-line.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openToldHouse, playWalks } from './told-health.ts'

const engine = await keepOpen(openEngine({ METRICS_PORT: '0' }))
const line = await keepOpen(openCommandLineAt(engine.house.settings, engine.house.clock))
const told = await openToldHouse(engine, line)

test('whatever was done to a webhook and answered by it, what is said of it agrees with its attempts', async () => {
  const walk = ['break', 'publish', 'pause', 'resume', 'mend', 'try now'] as const
  await playWalks(told, { seed: 1, numRuns: 2, longest: 5, examples: [[[...walk]]] })
})
