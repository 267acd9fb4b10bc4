import { together } from '../support/together.ts'

together('test/cli/*.test.ts', 'test/operating/!(doctor|memory|processes|traces).test.ts')
