/** The API calls of a client or a partner, of the last 24 hours, as the portal and the console show them. */
import { findCallsByRequest, type KeptCall } from '../partners/calls.ts'
import { getClient } from '../partners/client.ts'
import { failureCauses } from '../partners/failure-causes.ts'
import { getPartner } from '../partners/partner.ts'
import { Invalid } from '../problem.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { findCallFaults, searchCalls } from '../web/parts/calls.ts'
import { type Command, type CommandWords, type ReadContext, UsageError } from './command.ts'
import { parseEnvironment } from './environment.ts'
import { namePartners } from './names.ts'

const usualLimit = 50

export const callsCommand: Command = {
  name: 'calls',
  needs: 'reading',
  summary: 'Lists the API calls of a partner or a client, newest first. They are kept for 24 hours.',
  options: [
    { name: 'partner', value: 'NAME|ID', meaning: 'name or branch id of the partner' },
    { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
    { name: 'client', value: 'CLIENT', meaning: 'only of this client' },
    {
      name: 'request',
      value: 'ID',
      meaning: 'only with this request id, and what to do about it; alone, of all partners',
    },
    { name: 'failed', meaning: 'only those that failed' },
    { name: 'unmet', meaning: 'only those that FAPI 2.0 would refuse, of a client that is moving' },
    { name: 'status', value: 'STATUS', meaning: 'such as 404, or 4xx' },
    { name: 'route', value: 'ROUTE', meaning: 'how the route begins, such as "POST /v2/webhooks"' },
    { name: 'limit', value: 'N', meaning: `${usualLimit} unless given` },
  ],
  async run(context, words) {
    const calls = await findCalls(context, words)
    const partners = calls.map(({ branchId }) => branchId)
    const names = words.has('request') ? await namePartners(context.db, partners) : undefined
    context.print.table(
      calls.map((call) => (names ? everythingOf(call, names) : fieldsOf(call))),
      'There are no such calls of the last 24 hours.',
    )
  },
}

async function findCalls({ db, clock }: ReadContext, words: CommandWords): Promise<readonly KeptCall[]> {
  const most = Number(words.find('limit') ?? usualLimit) || usualLimit
  const request = words.find('request')
  const owner = await findOwner(db, words)
  if (!owner) {
    if (request === undefined)
      throw new UsageError('Say whose calls: --partner NAME|ID, --client CLIENT or --request ID.')
    return findCallsByRequest(db, request, undefined, clock.now(), most)
  }
  const asked = {
    ...{ request, client: words.find('client'), failed: words.has('failed'), unmet: words.has('unmet') },
    ...{ status: words.find('status'), route: words.find('route') },
  }
  const faults = findCallFaults(asked)
  if (faults.length > 0) throw new Invalid(faults)
  return (await searchCalls(db, owner, asked, clock.now(), most)).rows
}

interface Owner {
  readonly branchId: number
  readonly environment: Environment
}

/** A client has one partner and one site. */
async function findOwner(db: ReadContext['db'], words: CommandWords): Promise<Owner | undefined> {
  const [clientId, partner] = [words.find('client'), words.find('partner')]
  if (clientId !== undefined) return getClient(db, clientId)
  if (partner === undefined) return undefined
  const { branchId } = await getPartner(db, partner)
  return { branchId, environment: parseEnvironment(words.find('environment')) }
}

function fieldsOf(call: KeptCall) {
  const { at, status, method, route, durationMs, clientId, requestId, cause, code, fields, leftOut, unmet } =
    call
  return {
    ...{ at, status, method, route, duration_ms: Math.round(durationMs * 10) / 10, client_id: clientId },
    ...{ request_id: requestId, error: code, fields },
    /** Before it, without a line of their own. */
    left_out: leftOut,
    problem: cause === null ? null : failureCauses[cause].problem,
    /** What FAPI 2.0 demands and it lacked. */
    unmet,
  }
}

/** Of a request that somebody asked about. */
function everythingOf(call: KeptCall, names: ReadonlyMap<number, string>) {
  const { branchId, environment, isClaimed, cause } = call
  return {
    ...fieldsOf(call),
    remedy: cause === null ? null : failureCauses[cause].remedy,
    ...{ partner: names.get(branchId) ?? null, environment, proven: !isClaimed },
  }
}
