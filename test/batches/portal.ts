import { together } from '../support/together.ts'

together('test/web/*/!(browser|*-in-chromium).test.ts')
