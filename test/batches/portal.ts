import { together } from '../support/together.ts'

together('test/web/*/!(browser|offered-acts|*-in-chromium).test.ts')
