/** Who says what a request may do: the gateway, asked about its bearer, or the assertion that came with it. */
import type { Access } from './access.ts'
import type { Demand, Requirements } from './demand.ts'
import type { Refusal } from './refusal.ts'

/** What of a request is looked at. */
export interface PresentedRequest {
  readonly method: string
  readonly host: string | undefined
  /** Path and query as they were sent. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export type Judgement = Access | Refusal

export interface Verifier {
  /** What a route demands, read once. */
  demand(requirements: Requirements): Demand
  /**
   * Without a promise where nothing needs to be asked. `account` is the account that the request is about;
   * undefined where it is about none.
   */
  judge(
    request: PresentedRequest,
    demand: Demand,
    account: string | undefined,
  ): Judgement | Promise<Judgement>
  close(): void
}
