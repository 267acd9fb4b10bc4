/**
 * Whatever happens in the same moment: each pair of what can happen to a webhook's deliveries, and three where three meet, is played in every order
 * of its statements, and after each the promises of the engine hold. See test/support/interleaving.ts for how.
 */
import { everything, play } from '../support/interleaved-acts.ts'

/** Beside days that leave, which take longest to play, whatever is made of acts that are played beside them by themselves is left out. */
const isCovered = ([one, other]: readonly string[]) => other === 'retire' && ['take over', 'fail'].includes(one!)

const scenes = [
  ...everything
    .flatMap((one, place) => everything.slice(place).map((other) => [one, other]))
    .filter((each) => !isCovered(each)),
  // Where one makes, one ends and one wants more, or one looks away while another looks on.
  ['dispatch', 'settle', 'redeliver'],
  ['dispatch', 'settle', 'claim'],
  ['dispatch', 'settle', 'expire'],
  ['dispatch', 'settle', 'pull forward'],
  ['publish', 'publish', 'dispatch'],
  ['publish', 'publish at once', 'dispatch'],
  ['publish at once', 'publish at once', 'settle'],
  ['publish', 'dispatch', 'let go'],
  ['dispatch', 'let go', 'pause'],
  ['dispatch', 'let go', 'resume'],
  ['dispatch', 'let go', 'approve'],
  ['dispatch', 'delete', 'clear'],
  ['settle', 'claim', 'pause'],
]

/** The longest first, so that each troupe has as many of them: those of three, and days that leave. */
const isLong = (names: readonly string[]) => names.length > 2 || names.includes('retire')
play('whatever happens in the same moment', [...scenes.filter(isLong), ...scenes.filter((names) => !isLong(names))], 4)
