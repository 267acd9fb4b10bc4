import { together } from '../support/together.ts'

// Alone, but among the first: it takes longest of those that need a process of their own.
together('test/operating/processes.test.ts')
