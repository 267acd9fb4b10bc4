/** What somebody has copied from a log finds its way: events by name, deliveries by number, webhooks by address. Nothing reads a table to its end. */
import { after, second } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import type { DeliveryState } from './delivery.ts'
import * as table from './event-search.sql.ts'
import type { Kind } from './kind.ts'
import type { Branch } from './webhook.ts'

/** Between the moment that an event's name tells and the one it was stored with. */
const slackMs = 5 * second
const lookedAtMost = 100_000
/** Of those whose names tell no moment: they were published before names did, and leave with their days. */
const latelyAtMost = 20_000

/** By name, of a branch. */
export const searchesPerMinute = 120

interface NamedEvent {
  readonly id: number
  readonly uid: string
  readonly branchId: number
  readonly environment: Environment
  readonly kind: Kind
  readonly action: string
  readonly entity: string
  readonly createdAt: Date
}

/** `evt_0192…`, with or without its prefix and dashes; undefined for what is no name of an event. */
export function parseEventName(text: string): string | undefined {
  const hex = text.toLowerCase().replace(/^evt_/, '').replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(hex) ? hex : undefined
}

/** Of this branch and environment alone, unless anybody's is sought. */
export async function findNamedEvent(sql: Sql, name: string, of: Branch | 'anybody'): Promise<NamedEvent | undefined> {
  const [event] = await selectNamed(sql, name)
  if (!event || of === 'anybody') return event
  return event.branchId === of.branchId && event.environment === of.environment ? event : undefined
}

function selectNamed(sql: Sql, name: string): Promise<NamedEvent[]> {
  const at = momentOf(name)
  if (!at) return sql.query<NamedEvent>(table.selectNamedLately, [name, latelyAtMost])
  return sql.query<NamedEvent>(table.selectNamedBetween, [name, after(at, -slackMs), after(at, slackMs), lookedAtMost])
}

/** Names of version 7 begin with their milliseconds. Years that no day is kept of are none. */
function momentOf(name: string): Date | undefined {
  const at = new Date(Number.parseInt(name.slice(0, 12), 16))
  return name[12] === '7' && at.getUTCFullYear() < 2090 ? at : undefined
}

interface OfPartner {
  readonly url: string
  readonly branchId: number
  readonly partner: string
  readonly environment: Environment
}

export interface FoundDelivery extends OfPartner {
  readonly id: number
  readonly state: DeliveryState
  readonly entity: string
  readonly attempts: number
  readonly webhookId: number
}

interface FoundWebhook extends OfPartner {
  readonly id: number
}

/** Of whichever partner: for operators. */
export async function findAnyDelivery(sql: Sql, id: number): Promise<FoundDelivery | undefined> {
  return (await sql.query<FoundDelivery>(table.selectAnyDelivery, [id]))[0]
}

/** By words of the address, or by number; of all partners. */
export function findWebhooksAt(sql: Sql, text: string, most: number): Promise<FoundWebhook[]> {
  return sql.query<FoundWebhook>(table.selectAddressed, [text, numberOf(text), most])
}

/** What can be the number of a delivery or a webhook. */
export function numberOf(text: string): number | undefined {
  const digits = /^#?([1-9]\d{0,15})$/.exec(text)?.[1]
  return digits === undefined || Number(digits) > Number.MAX_SAFE_INTEGER ? undefined : Number(digits)
}
