import { together } from '../../support/together.ts'

together('test/web/looks.long.ts')
