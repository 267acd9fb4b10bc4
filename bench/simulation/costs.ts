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
  /** Instead of the publishing statement, and for the event: its deliveries come on top. */
  readonly shortCutNodeUs: number
  readonly shortCutPostgresUs: Shared
  readonly shortCutLogBytes: number
  readonly dispatchNodeUs: Shared
  readonly dispatchPostgresUs: Shared
  readonly dispatchLogBytes: number
  /** For each delivery that is created. */
  readonly createNodeUs: number
  readonly createPostgresUs: number
  readonly createLogBytes: number
  readonly notifyPostgresUs: number
  readonly notifyLogBytes: number
  /** A worker that hears of something, and one that then looks for lanes that nobody holds. */
  readonly hearNodeUs: number
  readonly claimNodeUs: number
  readonly claimPostgresUs: number
  readonly readPostgresUs: Shared
  readonly sendNodeUs: number
  readonly settleNodeUs: number
  readonly settlePostgresUs: Shared
  readonly settleLogBytes: number
  /** A node that does nothing, each second. */
  readonly idleNodeUs: number
  readonly idlePostgresUs: number
  readonly commitUs: number
  /** The load generator's and the receiver's own, where they share the machine. */
  readonly generatorUs: number
  readonly receiverUs: number
}

/** How far apart lone events are published. */
const aloneSeconds = 0.01
const inCompany = 20
/** Of what reading and settling a delivery cost PostgreSQL in company: reading. */
const readShare = 0.25

export function readCosts(): Costs {
  return parseCosts(JSON.parse(readFileSync(new URL('costs.json', import.meta.url), 'utf8')) as MeasuredCosts)
}

export function parseCosts({ works, commits }: MeasuredCosts): Costs {
  const get = (name: string) => works[name]!
  const idle = get('idle second')
  const publishing = publishingOf(get('publish alone'), get('publish'), get('publish by the hundred'))
  const { sendNodeUs, ...delivering } = deliveringOf(get)
  return {
    ...publishing,
    ...shortCutOf(get, idle, publishing),
    ...dispatchingOf(get, idle),
    ...hearingOf(get),
    ...delivering,
    sendNodeUs,
    idleNodeUs: idle.mainThreadUs,
    idlePostgresUs: idle.postgresUs,
    commitUs: commits.commitMs * 1_000,
    generatorUs: get('publish').besideUs,
    receiverUs: get('send and settle').besideUs,
  }
}

type Get = (name: string) => Measured

function publishingOf(alone: Measured, together: Measured, hundred: Measured) {
  const publishNodeUs = share(alone.mainThreadUs, together.mainThreadUs, 1 / together.commits)
  const eventNodeUs = Math.min(publishNodeUs.each, hundred.mainThreadUs)
  return {
    requestNodeUs: publishNodeUs.each - eventNodeUs,
    publishNodeUs: { statement: publishNodeUs.statement, each: eventNodeUs },
    publishPostgresUs: share(alone.postgresUs, hundred.postgresUs, 1 / hundred.commits),
    publishLogBytes: hundred.logBytes,
  }
}

function shortCutOf(get: Get, idle: Measured, { requestNodeUs, publishNodeUs }: ReturnType<typeof publishingOf>) {
  const [alone, twenty] = [get('short cut alone'), get('short cut by the twenty')]
  const background = (of: keyof Measured) => idle[of] * aloneSeconds
  const postgres = [
    alone.postgresUs - background('postgresUs'),
    twenty.postgresUs - background('postgresUs') / inCompany,
  ]
  return {
    shortCutNodeUs: atLeast0(alone.mainThreadUs - background('mainThreadUs') - requestNodeUs - publishNodeUs.each),
    shortCutPostgresUs: share(postgres[0]!, postgres[1]!, inCompany),
    shortCutLogBytes: twenty.logBytes,
  }
}

function dispatchingOf(get: Get, idle: Measured) {
  const [event, created, alone] = [get('dispatch an event'), get('dispatch a delivery'), get('dispatch alone')]
  const looked = minus(get('hear of an event'), get('hear of nothing'))
  const lone = minus(alone, scale(idle, aloneSeconds))
  return {
    dispatchNodeUs: {
      statement: atLeast0(lone.mainThreadUs - looked.mainThreadUs - event.mainThreadUs),
      each: event.mainThreadUs,
    },
    dispatchPostgresUs: {
      statement: atLeast0(lone.postgresUs - get('publish alone').postgresUs - looked.postgresUs - event.postgresUs),
      each: event.postgresUs,
    },
    dispatchLogBytes: event.logBytes,
    createNodeUs: created.mainThreadUs,
    createPostgresUs: created.postgresUs,
    createLogBytes: created.logBytes,
  }
}

function hearingOf(get: Get) {
  const nothing = minus(get('hear of nothing'), scale(get('idle second'), aloneSeconds))
  const claim = minus(get('hear of a delivery'), get('hear of nothing'))
  return {
    notifyPostgresUs: nothing.postgresUs,
    notifyLogBytes: nothing.logBytes,
    hearNodeUs: nothing.mainThreadUs,
    claimNodeUs: claim.mainThreadUs,
    claimPostgresUs: claim.postgresUs,
  }
}

/** A lone delivery by the short cut is settled and not read; one by the ordinary way is read as well. */
function deliveringOf(get: Get) {
  const [many, created] = [get('send and settle'), get('dispatch a delivery')]
  const lone = minus(get('short cut alone, delivered'), get('short cut alone'))
  const each = (1 - readShare) * many.postgresUs
  const settlements = Math.max(0.05, lone.commits)
  const settling = atLeast0(lone.postgresUs - created.postgresUs - each)
  const ordinary = minus(get('send and settle alone'), get('dispatch alone'))
  return {
    sendNodeUs: many.mainThreadUs,
    settleNodeUs: atLeast0(lone.mainThreadUs - many.mainThreadUs) / settlements,
    settlePostgresUs: { statement: settling / settlements, each },
    readPostgresUs: { statement: atLeast0(ordinary.postgresUs - lone.postgresUs), each: readShare * many.postgresUs },
    settleLogBytes: many.logBytes,
  }
}

/** From the cost alone (s + e) and among n (s/n + e). */
function share(alone: number, among: number, n: number): Shared {
  const statement = Math.max(0, (alone - among) / (1 - 1 / n))
  return { statement, each: Math.max(0, alone - statement) }
}

function atLeast0(value: number): number {
  return Math.max(0, value)
}

function minus(all: Measured, part: Measured): Measured {
  return combine(all, part, (a, b) => atLeast0(a - b))
}

function scale(cost: Measured, factor: number): Measured {
  return combine(cost, cost, (value) => value * factor)
}

function combine(a: Measured, b: Measured, join: (a: number, b: number) => number): Measured {
  const names = ['mainThreadUs', 'postgresUs', 'besideUs', 'logBytes', 'commits'] as const
  return Object.fromEntries(names.map((name) => [name, join(a[name], b[name])])) as unknown as Measured
}
