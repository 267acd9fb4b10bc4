/**
 * One run after the other, each in its turn: a caller is answered when a run has ended that began after its
 * call, and with it all that began before. A run that fails fails for the callers that asked for it, and for
 * no others.
 */
export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    const own = last.then(work)
    last = own.catch(() => {})
    return own
  }
}
