/** What is shorter, and fills what is left. */
import { together } from '../../support/together.ts'

together('test/web/**/@(brand-looks|reference).long.ts', 'test/security/*.long.ts', 'bench/**/*.long.ts')
