/**
 * What happens most often in the same moment, played in every order of its statements; `npm run test:long` plays all there is, each beside every other
 * (interleavings.long.ts). See test/support/interleaving.ts for how.
 */
import { everything, play } from '../support/interleaved-acts.ts'

/** Days that leave are played at length: each order of them takes as long as many of the others. */
const beside = (one: string) => everything.filter((other) => other !== 'retire').map((other) => [one, other])

play('beside what happens all the time', [...beside('dispatch'), ...beside('settle')])
