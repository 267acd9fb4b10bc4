/** Nobody can say at present whether a request may be let in: an answer of 503, never of 401. */
export class Unavailable extends Error {
  readonly retryAfterSeconds: number

  constructor(
    message: string,
    { cause, retryAfterSeconds = 1 }: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, { cause })
    this.name = 'Unavailable'
    this.retryAfterSeconds = retryAfterSeconds
  }
}
