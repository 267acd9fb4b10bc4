/** Whatever is killed again and again, and brought back. */
import { together } from '../../support/together.ts'

together('test/faults/@(import|kill).long.ts', 'test/delivery/nothing-lost.long.ts', 'test/operating/restore.long.ts')
