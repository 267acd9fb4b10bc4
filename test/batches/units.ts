import { together } from '../support/together.ts'

together('src/**/*.test.ts', 'bench/**/*.test.ts', 'test/*.test.ts')
