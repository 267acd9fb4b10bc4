/** The log of calls, as tests fill and read it. */
import { type KeptCall, listCalls } from '../../src/partners/calls.ts'
import type { TestGateway } from './gateway.ts'

/** As many failed calls of a member of the partner, just now; answers the newest. */
export async function failCalls(
  { gateway, clock }: TestGateway,
  branchId: number,
  many: number,
): Promise<KeptCall> {
  const { callLog } = gateway.context
  for (let n = 0; n < many; n++)
    callLog.note({
      ...{
        environment: 'live',
        branchId,
        clientId: undefined,
        isClaimed: false,
        network: '',
        at: clock.now(),
      },
      ...{
        method: 'GET',
        route: '/v1/user/profile',
        status: 401,
        durationMs: 1,
        requestId: `failed-${n}`,
        unmet: undefined,
      },
      failure: { code: 'invalid_token', cause: 'token-ended', fields: [] },
    })
  const [newest] = await readCalls({ gateway, clock }, branchId)
  return newest!
}

/** Everything that is kept of a partner on one site, newest first. */
export async function readCalls(
  { gateway, clock }: Pick<TestGateway, 'gateway' | 'clock'>,
  branchId: number,
  { onlyFailed = false, environment = 'live' as 'live' | 'sandbox' } = {},
): Promise<KeptCall[]> {
  const { db, callLog } = gateway.context
  await callLog.flush()
  return listCalls(db, { branchId, environment }, { onlyFailed }, clock.now(), 10_000)
}
