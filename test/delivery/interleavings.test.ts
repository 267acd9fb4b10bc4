/**
 * What happens most often in the same moment, each kind of it once, played in every order of its statements; `npm run test:long` plays all there is, each beside
 * every other (interleavings.long.ts). See test/support/interleaving.ts for how.
 */
import { play } from '../support/interleaved-acts.ts'

play('beside what happens all the time', [
  ['dispatch', 'publish'],
  ['dispatch', 'settle'],
  ['dispatch', 'publish at once'],
  ['dispatch', 'pause'],
  ['settle', 'claim'],
  ['settle', 'redeliver'],
  ['settle', 'suspend'],
  ['settle', 'delete'],
])
