/** By itself: it thinks for minutes, and lets nobody else in its process do anything meanwhile. */
import { together } from '../../support/together.ts'

together('test/engine/model.long.ts')
