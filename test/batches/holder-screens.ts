import { together } from '../support/together.ts'

together('test/web/@(frame|identity|passkeys)-in-chromium.test.ts')
