import { together } from '../support/together.ts'

together('test/spec/*.test.ts')
