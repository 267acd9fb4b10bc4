import { together } from '../support/together.ts'

together('test/delivery/[a-q]*.test.ts')
