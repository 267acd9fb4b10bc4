import { together } from '../support/together.ts'

together('test/web/*/!(browser|offered-acts|operation|*-in-chromium).test.ts')
