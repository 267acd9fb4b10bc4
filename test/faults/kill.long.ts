/** Each kill of kill.test.ts, ten times in a row. */
import { testKills } from './suite/kills.ts'

testKills(10)
