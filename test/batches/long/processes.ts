/** Whole gateways in processes of their own, with their private servers, some of them killed. */
import { together } from '../../support/together.ts'

together('test/operating/processes.test.ts', 'test/spec/demo.test.ts')
