import { together } from '../support/together.ts'

together('test/web/!(browser|once-only|typed-values|*-in-chromium).test.ts')
