/** One journey in a real browser, the one that matters most; the others are in `npm run test:long`. */
import { together } from '../support/together.ts'

together('test/web/identity-in-chromium.test.ts')
