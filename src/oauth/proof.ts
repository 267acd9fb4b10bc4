/** What assertions and proofs have in common: each is signed for one request, and counts once. */
export interface ProofFault<Check extends string = string> {
  /** Which rule, for the log of calls and its remedies. */
  readonly check: Check
  readonly problem: string
}

/** Its hash, a character a byte, remembered until it would be refused for its age. */
export interface ProofUse {
  readonly hash: string
  readonly expiresAt: Date
}
