/**
 * What needs an operator, as one queue: each row says what, why, since when, and holds the acts that answer
 * it. The most urgent comes first, of those the one that waits longest. Of each kind a few are shown and the
 * others counted, up to a bound.
 */
import { type Html, html } from '../../frame/html.ts'
import { badge, type Tone } from '../../frame/parts.ts'
import { linkTo, type Reader } from '../frame/console.ts'
import { attentionKinds } from './attention-kinds.ts'
import { type AttentionContext, type AttentionRow, type Urgency, urgencies } from './attention-row.ts'

const tones: Record<Urgency, Tone> = { now: 'bad', soon: 'wait', decide: 'wait', know: 'off' }

/** Shown of each kind, and counted beyond. */
const shownEach = 5
const countedEach = 100

interface MoreLink {
  readonly plural: string
  readonly all: string
  readonly count: number
}

interface Attention {
  readonly rows: readonly AttentionRow[]
  readonly more: readonly MoreLink[]
}

export async function findAttention(context: AttentionContext): Promise<Attention> {
  const found = await Promise.all(
    attentionKinds
      .filter(({ permission }) => context.operator.may(permission))
      .map(async (kind) => ({ kind, rows: await kind.find(context, shownEach + countedEach) })),
  )
  const rows = found.flatMap(({ rows }) => rows.slice(0, shownEach)).sort(compare)
  const more = found
    .filter(({ rows }) => rows.length > shownEach)
    .map(({ kind: { plural, all }, rows }) => ({ plural, all, count: rows.length - shownEach }))
  return { rows, more }
}

function compare(one: AttentionRow, other: AttentionRow): number {
  const byUrgency = urgencies.indexOf(one.urgency) - urgencies.indexOf(other.urgency)
  return byUrgency === 0 ? one.since.getTime() - other.since.getTime() : byUrgency
}

export function printAttention({ rows, more }: Attention, reader: Reader): Html {
  if (rows.length === 0)
    return html`<section class="card"><h2>Needs your attention</h2><p class="empty">Nothing waits for an
      operator, and nothing is about to end.</p></section>`
  return html`<section class="card"><h2>Needs your attention</h2>
<ol class="tokens attention">${rows.map(printRow)}</ol>
${more.map((each) => printMore(each, reader))}</section>`
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
