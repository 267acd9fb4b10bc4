import { together } from '../support/together.ts'

together('test/security/!(logs|wrong-codes).test.ts')
