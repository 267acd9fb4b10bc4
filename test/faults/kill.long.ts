/** Each kill of kill.test.ts, five times in a row. */
import { testKills } from './suite/kills.ts'

testKills(5)
