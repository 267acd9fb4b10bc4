import { together } from '../support/together.ts'

together('test/delivery/[r-z]*.test.ts')
