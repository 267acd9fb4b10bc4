/**
 * Long enough for the busiest machine, which may do a tenth of what an idle one does; what is well takes a
 * fraction of it.
 */
export const testTimeoutMs = Number(process.env.TEST_TIMEOUT_MS ?? 240_000)
