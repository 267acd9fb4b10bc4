import { together } from '../../support/together.ts'

together('test/web/@(browser|!(identity)-in-chromium).test.ts', 'test/web/*/@(browser|*-in-chromium).test.ts')
