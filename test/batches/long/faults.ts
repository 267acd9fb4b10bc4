/** Begins first, since it waits more than it computes: the runner takes batches in the order of their names. */
import { together } from '../../support/together.ts'

together('test/faults/@(faults|first-faults).long.ts')
