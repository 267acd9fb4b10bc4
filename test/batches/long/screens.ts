import { together } from '../../support/together.ts'

together('test/web/browser.test.ts', 'test/web/*/@(browser|*-in-chromium).test.ts')
