/** More faults of each kind, in their short form; the first of each is in first-faults.long.ts. */
import { scenarios } from './suite/scenarios.ts'
import { testScenarios } from './suite/short-form.ts'

testScenarios(
  'of each kind of fault the others',
  scenarios.filter(({ when }) => when === undefined),
)
