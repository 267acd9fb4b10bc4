/**
 * What needs an operator, as one queue: each row says what, why, since when, and holds the acts that answer
 * it. What is live comes before what is of the sandbox, then the most urgent, of those the one that waits
 * longest. Of each kind a few are shown and the others counted, up to a bound. What fails in the sandbox is
 * its partner's to mend: it is counted alone.
 */
import { chooseFailing } from '../../../webhooks/health/failing-webhooks.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, type Tone } from '../../frame/parts.ts'
import { linkTo, type Reader } from '../frame/console.ts'
import { attentionKinds } from './attention-kinds.ts'
import {
  type AttentionContext,
  type AttentionRow,
  countedEach,
  shownEach,
  type Urgency,
  urgencies,
} from './attention-row.ts'

const tones: Record<Urgency, Tone> = { now: 'bad', soon: 'wait', decide: 'wait', know: 'off' }

interface MoreLink {
  readonly plural: string
  readonly all: string
  readonly count: number
}

interface Attention {
  readonly rows: readonly AttentionRow[]
  readonly more: readonly MoreLink[]
  /** How many webhooks fail in the sandbox, up to a bound. */
  readonly failingInSandbox: number
}

export async function findAttention(context: AttentionContext): Promise<Attention> {
  const { operator } = context
  const [inSandbox, ...found] = await Promise.all([
    operator.may('webhooks.see') ? findFailingInSandbox(context) : [],
    ...attentionKinds
      .filter(({ permission }) => operator.may(permission))
      .map(async (kind) => ({ kind, rows: await kind.find(context, shownEach + countedEach) })),
  ])
  const rows = found.flatMap(({ rows }) => rows.slice(0, shownEach)).sort(compare)
  const more = found
    .filter(({ rows }) => rows.length > shownEach)
    .map(({ kind: { plural, all }, rows }) => ({ plural, all, count: rows.length - shownEach }))
  return { rows, more, failingInSandbox: inSandbox.length }
}

async function findFailingInSandbox({ db, lanes, now }: AttentionContext) {
  return chooseFailing(db, await lanes(), 'sandbox', now, countedEach)
}

function compare(one: AttentionRow, other: AttentionRow): number {
  const bySite = Number(one.environment === 'sandbox') - Number(other.environment === 'sandbox')
  if (bySite !== 0) return bySite
  const byUrgency = urgencies.indexOf(one.urgency) - urgencies.indexOf(other.urgency)
  return byUrgency === 0 ? one.since.getTime() - other.since.getTime() : byUrgency
}

export function printAttention({ rows, more, failingInSandbox }: Attention, reader: Reader): Html {
  if (rows.length === 0)
    return html`<section class="card"><h2>Needs your attention</h2><p class="empty">Nothing waits for an
      operator, and nothing is about to end.</p>${printSandbox(failingInSandbox)}</section>`
  return html`<section class="card"><h2>Needs your attention</h2>
<ol class="tokens attention">${rows.map(printRow)}</ol>
${more.map((each) => printMore(each, reader))}${printSandbox(failingInSandbox)}</section>`
}

function printSandbox(failing: number): Html | undefined {
  if (failing === 0) return undefined
  const count =
    failing >= countedEach
      ? `at least ${countedEach} webhooks are`
      : failing === 1
        ? '1 webhook is'
        : `${failing} webhooks are`
  const all = `/console/webhooks?${new URLSearchParams({ site: 'sandbox', condition: 'needs attention' })}`
  return html`<p class="small">In the sandbox <a href="${all}">${count} failing</a>. Their partners see why.</p>`
}

function printRow({ urgency, kind, title, reason, age, acts }: AttentionRow): Html {
  return html`<li><div>${badge(tones[urgency], kind)} <strong>${title}</strong>
    <span class="faint">${age}</span><br>${urgency === 'decide' && 'Needs your decision. '}${reason}</div>
${acts && html`<div class="acts">${acts}</div>`}</li>`
}

function printMore({ plural, all, count }: MoreLink, reader: Reader): Html {
  const words = count >= countedEach ? `at least ${countedEach}` : String(count)
  return html`<p>${linkTo(reader, all, `and ${words} more ${plural}`)}</p>`
}
