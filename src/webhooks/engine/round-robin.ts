/** Whose turn it is: first come, first served, each once. */
export class RoundRobin<Waiting> {
  readonly #waiting = new Set<Waiting>()
  #came: Waiting[] = []
  /** Last one first. */
  #served: Waiting[] = []

  add(one: Waiting): void {
    if (this.#waiting.has(one)) return
    this.#waiting.add(one)
    this.#came.push(one)
  }

  delete(one: Waiting): void {
    this.#waiting.delete(one)
  }

  next(): Waiting | undefined {
    for (;;) {
      if (this.#served.length === 0) {
        this.#served = this.#came.reverse()
        this.#came = []
      }
      const one = this.#served.pop()
      if (one === undefined || this.#waiting.delete(one)) return one
    }
  }
}
