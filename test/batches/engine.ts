import { together } from '../support/together.ts'

together('test/engine/*.test.ts')
