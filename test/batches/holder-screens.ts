import { together } from '../support/together.ts'

together('test/web/*-in-chromium.test.ts')
