/**
 * Long enough for the busiest machine, which may do a tenth of what an idle one does; what is well takes a
 * fraction of it.
 */
export const testTimeoutMs = 240_000
