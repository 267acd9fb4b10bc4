/** Whether the operators of the gateway are guarded by more than a password. */

import type { Database } from '../database/database.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import { countOperators } from '../users/users.sql.ts'
import { type Answer, ok, warn } from './finding.ts'

export async function checkOperators(db: Database, config: Config): Promise<Answer> {
  const { operators, unguarded } = await db.one(countOperators)
  const found = `${unguarded} of ${operators} operators have no second factor.`
  if (unguarded === 0)
    return { finding: ok(`Each of ${operators} operators has a second factor, here or at their provider.`) }
  if (config.secondFactorForOperators)
    return {
      finding: warn(
        found,
        'They cannot enter the console until they set one up under “Security”. Lock out those who left.',
      ),
    }
  if (isDevelopment(config)) return { finding: ok(`${found} On this machine alone they need none.`) }
  const advice = 'A password alone opens the console: set REQUIRE_SECOND_FACTOR_FOR_OPERATORS to true.'
  return { finding: warn(found, advice) }
}
