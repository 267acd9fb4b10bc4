import { together } from '../../support/together.ts'

together('test/delivery/interleavings.long.ts')
