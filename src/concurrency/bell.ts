/** Callers that wait for it go on when it rings. A caller that comes later waits for the next ring. */
export class Bell {
  #next = Promise.withResolvers<void>()

  ring(): void {
    this.#next.resolve()
    this.#next = Promise.withResolvers<void>()
  }

  get rung(): Promise<void> {
    return this.#next.promise
  }
}
