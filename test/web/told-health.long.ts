import { test } from 'node:test'
import { openCommandLineAt } from '../cli/command-line.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openToldHouse, playWalks } from './told-health.ts'

const engine = await keepOpen(openEngine({ METRICS_PORT: '0' }))
const line = await keepOpen(openCommandLineAt(engine.house.settings, engine.house.clock))
const told = await openToldHouse(engine, line)

test('in many walks, too, what is said of a webhook agrees with its attempts', async () => {
  await playWalks(told, { numRuns: 15, longest: 16 })
})
