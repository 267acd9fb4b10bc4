/**
 * Whatever starts whole gateways and servers of its own, kills them and brings them back: one file after the
 * other, so that on a slow machine as many processes as one test needs compete, and not those of several.
 * Begins first, since it waits for a part of its time: the runner takes batches in the order of their names.
 */
import { together } from '../../support/together.ts'

together(
  'test/faults/*.long.ts',
  'test/delivery/nothing-lost.long.ts',
  'test/operating/processes.test.ts',
  'test/operating/restore.long.ts',
  'test/spec/demo.test.ts',
)
