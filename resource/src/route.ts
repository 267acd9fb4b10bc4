/** One route's hook, whatever the framework: what it demands, read once, and what it makes of a request. */
import type { Requirements } from './demand.ts'
import { Refusal } from './refusal.ts'
import type { Judgement, PresentedRequest, Verifier } from './verifier.ts'

export interface RouteRequirements<Request> extends Requirements {
  /** The account that a request is about. One that names none is refused. */
  readonly account?: (request: Request) => string | undefined
}

export type JudgeRequest<Request> = (
  request: Request,
  presented: PresentedRequest,
) => Judgement | Promise<Judgement>

export function openRoute<Request>(
  verifier: Verifier,
  { account, ...requirements }: RouteRequirements<Request>,
): JudgeRequest<Request> {
  const demand = verifier.demand(requirements)
  if (!account) return (_request, presented) => verifier.judge(presented, demand, undefined)
  // No account is called nothing: a request that names none reaches none.
  return (request, presented) => verifier.judge(presented, demand, account(request) ?? '')
}

/** At once where nothing had to be asked. */
export function whenJudged(
  judge: () => Judgement | Promise<Judgement>,
  judged: (judgement: Judgement) => void,
  failed: (error: Error) => void,
): void {
  let judgement: Judgement | Promise<Judgement>
  try {
    judgement = judge()
  } catch (error) {
    failed(error as Error)
    return
  }
  if (judgement instanceof Promise) void judgement.then(judged, failed)
  else judged(judgement)
}

export function hostOf({ host }: PresentedRequest['headers']): string | undefined {
  return typeof host === 'string' ? host : undefined
}

export function isRefusal(judgement: Judgement): judgement is Refusal {
  return judgement instanceof Refusal
}
