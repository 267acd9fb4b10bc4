/**
 * The measured costs (`node bench/costs/main.ts --write bench/simulation/costs.json`) as the model uses them: what a statement
 * costs by itself, and what each thing in it adds. Both follow from measuring it alone and in company.
 */
import { readFileSync } from 'node:fs'

interface Measured {
  readonly mainThreadUs: number
  readonly postgresUs: number
  readonly besideUs: number
  readonly logBytes: number
  readonly commits: number
}

export interface MeasuredCosts {
  readonly works: Record<string, Measured>
  readonly commits: { readonly commitMs: number }
}

/** A statement with n things in it costs `statement + n × each`. */
export interface Shared {
  readonly statement: number
  readonly each: number
}

export interface Costs {
  /** For each request, whatever is in it. */
  readonly requestNodeUs: number
  readonly publishNodeUs: Shared
  readonly publishPostgresUs: Shared
  readonly publishLogBytes: number
  readonly dispatchNodeUs: Shared
  readonly dispatchPostgresUs: Shared
  readonly dispatchLogBytes: number
  /** For each delivery that is created. */
  readonly createNodeUs: number
  readonly createPostgresUs: number
  readonly createLogBytes: number
  /** A worker that hears of work which is another one's. */
  readonly vainNodeUs: number
  readonly vainPostgresUs: number
  readonly sendNodeUs: number
  readonly settleNodeUs: number
  readonly settlePostgresUs: Shared
  readonly settleLogBytes: number
  readonly commitUs: number
  /** The load generator's and the receiver's own, where they share the machine. */
  readonly generatorUs: number
  readonly receiverUs: number
}

export function readCosts(): Costs {
  return parseCosts(JSON.parse(readFileSync(new URL('costs.json', import.meta.url), 'utf8')) as MeasuredCosts)
}

export function parseCosts({ works, commits }: MeasuredCosts): Costs {
  const get = (name: string) => works[name]!
  const [alone, together, hundred] = [get('publish alone'), get('publish'), get('publish by the hundred')]
  const [event, created, settled] = [get('dispatch an event'), get('dispatch a delivery'), get('send and settle')]
  const [loneEvent, loneDelivery, vain] = [get('dispatch alone'), get('send and settle alone'), get('dispatch in vain')]
  const publishNodeUs = share(alone.mainThreadUs, together.mainThreadUs, 1 / together.commits)
  const publishPostgresUs = share(alone.postgresUs, hundred.postgresUs, 1 / hundred.commits)
  const eventNodeUs = Math.min(publishNodeUs.each, hundred.mainThreadUs)
  const loneSettle = loneDelivery.postgresUs - loneEvent.postgresUs - created.postgresUs
  return {
    requestNodeUs: publishNodeUs.each - eventNodeUs,
    publishNodeUs: { statement: publishNodeUs.statement, each: eventNodeUs },
    publishPostgresUs,
    publishLogBytes: hundred.logBytes,
    dispatchNodeUs: { statement: Math.max(0, loneEvent.mainThreadUs - event.mainThreadUs), each: event.mainThreadUs },
    dispatchPostgresUs: {
      statement: Math.max(0, loneEvent.postgresUs - alone.postgresUs - event.postgresUs),
      each: event.postgresUs,
    },
    dispatchLogBytes: event.logBytes,
    createNodeUs: created.mainThreadUs,
    createPostgresUs: created.postgresUs,
    createLogBytes: created.logBytes,
    vainNodeUs: vain.mainThreadUs,
    vainPostgresUs: vain.postgresUs,
    sendNodeUs: settled.mainThreadUs,
    settleNodeUs: Math.max(0, loneDelivery.mainThreadUs - loneEvent.mainThreadUs - settled.mainThreadUs),
    settlePostgresUs: { statement: Math.max(0, loneSettle - settled.postgresUs), each: settled.postgresUs },
    settleLogBytes: settled.logBytes,
    commitUs: commits.commitMs * 1_000,
    generatorUs: together.besideUs,
    receiverUs: settled.besideUs,
  }
}

/** From the cost alone (s + e) and among n (s/n + e). */
function share(alone: number, among: number, n: number): Shared {
  const statement = Math.max(0, (alone - among) / (1 - 1 / n))
  return { statement, each: Math.max(0, alone - statement) }
}
