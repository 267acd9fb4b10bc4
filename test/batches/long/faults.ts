/** Begins first, since it waits for a part of its time: the runner takes batches in the order of their names. */
import { together } from '../../support/together.ts'

together('test/faults/@(faults|first-faults).long.ts')
