/** Whoever waits for it goes on when it rings. Who comes later waits for the next time. */
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
