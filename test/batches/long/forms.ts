/** Every form there is: sent twice, sent at once, left open, and whatever a page offers is done. */
import { together } from '../../support/together.ts'

together('test/web/@(once-only|typed-values).test.ts', 'test/web/partner/offered-acts.test.ts')
