/**
 * One run after the other, each in its turn: whoever asks is answered when a run has ended that began after
 * they asked, and with it all that began before. A run that fails fails for whoever asked for it, and for
 * nobody else.
 */
export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    const own = last.then(work)
    last = own.catch(() => {})
    return own
  }
}
