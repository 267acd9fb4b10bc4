import { together } from '../support/together.ts'

together('test/security/*.test.ts')
