import { together } from '../../support/together.ts'

together('test/engine/*.long.ts')
