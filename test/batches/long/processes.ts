import { together } from '../../support/together.ts'

// Whole gateways of three processes each, some of them killed.
together('test/operating/processes.test.ts')
