import { together } from '../support/together.ts'

together('test/spec/!(demo).test.ts')
