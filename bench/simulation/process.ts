/** What happens one step after the other, written as a generator: each `yield` waits until its step is done. */
export type Step = (done: () => void) => void

export type Process<Result = void> = Generator<Step, Result, void>

export function start(process: Process): void {
  const goOn = () => {
    while (true) {
      const { value: step, done: isOver } = process.next()
      if (isOver || !isDoneAtOnce(step, goOn)) return
    }
  }
  goOn()
}

/** Steps that need no time follow each other in a loop, not ever deeper. */
function isDoneAtOnce(step: Step, later: () => void): boolean {
  let isDone = false
  let isLater = false
  step(() => {
    if (isLater) later()
    else isDone = true
  })
  isLater = true
  return isDone
}
