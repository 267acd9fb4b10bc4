/** What proves that it is them, and what takes two of them. */
import { fourEyesKinds } from '../vocabulary/proposal-kind.ts'
import * as kind from './kinds.ts'
import { whereLocal } from './local.ts'
import { always, follows, setting } from './setting.ts'

export const secondFactors = always({
  secondFactorForTrade: setting(
    'REQUIRE_SECOND_FACTOR_FOR_TRADE',
    'false',
    kind.flag,
    'true asks for a second factor, given minutes ago, before the scope trade can be approved',
  ),
  secondFactorForOperators: setting(
    'REQUIRE_SECOND_FACTOR_FOR_OPERATORS',
    follows('true', whereLocal('false', 'true')),
    kind.flag,
    'false lets operators into the console with a password alone (false on loopback addresses)',
  ),
  fourEyes: setting(
    'FOUR_EYES',
    '',
    kind.someOf(fourEyesKinds),
    `acts of the console that one person proposes and another approves: all, or any of ${fourEyesKinds.join(', ')}`,
  ),
})
