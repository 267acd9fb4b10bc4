import { second } from '../clock.ts'

/**
 * A statement of a gateway that takes longer has failed; none takes a tenth of it. Whatever counts on others
 * having ended by then counts from this.
 */
export const statementLimitMs = 5 * second
