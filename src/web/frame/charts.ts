/** Two small charts of a webhook: what was accepted, and how soon its receiver answered. Drawn as SVG, told as a table too. */
import type { FastifyRequest } from 'fastify'
import { after, hour } from '../../clock.ts'
import { deliveriesAColumn } from '../../webhooks/attempt-statistics.ts'
import type { Column, Columns, Period } from '../../webhooks/columns.ts'
import { type Html, html } from './html.ts'
import { table } from './parts.ts'

const width = 600
const height = 140
const lines = ['p50', 'p95', 'p99'] as const

export function printCharts(statistics: Columns, period: Period, here: string): Html {
  const { all } = statistics
  return html`<section class="card" id="charts"><h2>How it answers</h2>
${printPeriods(period, here)}
${all.made === 0 ? html`<p class="empty">No attempt was made in the last ${period}.</p>` : printBoth(statistics)}</section>`
}

/** The period that the page's address asks for. */
export function periodOf(request: FastifyRequest): Period {
  return (request.query as { period?: string }).period === 'day' ? 'day' : 'hour'
}

export function printPeriods(period: Period, here: string): Html {
  const tabs = (['hour', 'day'] as const).map(
    (each) => html`<a href="${here}?period=${each}"${each === period && html` aria-current="page"`}>Last ${each}</a>`,
  )
  return html`<nav class="tabs" aria-label="Period">${tabs}</nav>`
}

function printBoth(statistics: Columns): Html {
  const { all, columns } = statistics
  const rate = `${((100 * all.accepted) / all.made).toFixed(1)} %`
  const label = `Accepted: ${rate}. The tallest column has ${tallest(columns)} attempts.`
  return html`<div class="charts">
<figure><figcaption><strong>${rate}</strong> accepted</figcaption>${printBars(columns, label)}${printLegend({ accepted: 'accepted', failed: 'failed' })}</figure>
${printLatency(statistics, 'p95')}
</div>
<p class="small">Attempts of deliveries by when these were created (UTC); at most ${deliveriesAColumn} deliveries of each column are looked at.</p>
<details><summary>As a table</summary>${printTable(statistics, 'How it answers', ['Attempts', 'Accepted'])}</details>`
}

/** How soon, in a figure of its own. */
export function printLatency({ all, columns }: Pick<Columns, 'all' | 'columns'>, caption: string): Html {
  const quantiles = lines.map((name) => `${name} ${printMs(all[name])}`).join(', ')
  const legend = { p50: 'p50', p95: 'p95', p99: 'p99' }
  return html`<figure><figcaption><strong>${printMs(all.p95)}</strong> ${caption}</figcaption>${printLines(columns, quantiles)}${printLegend(legend)}</figure>`
}

export function tallest(columns: readonly Column[]): number {
  return Math.max(...columns.map(({ made }) => made))
}

export function printBars(columns: readonly Column[], label: string): Html {
  const most = tallest(columns)
  const step = width / columns.length
  const bars = columns.map(({ made, accepted }, place) => {
    const [whole, good] = [made, accepted].map((count) => (height * count) / most) as [number, number]
    const x = (place * step + step * 0.15).toFixed(1)
    const bar = (tone: string, y: number, tall: number) =>
      tall > 0 &&
      html`<rect class="${tone}" x="${x}" y="${y.toFixed(1)}" width="${(step * 0.7).toFixed(1)}" height="${tall.toFixed(1)}"/>`
    return html`${bar('failed', height - whole, whole - good)}${bar('accepted', height - good, good)}`
  })
  return frame(label, bars)
}

function printLines(columns: readonly Column[], quantiles: string): Html {
  const most = Math.max(1, ...columns.flatMap((column) => lines.map((name) => column[name] ?? 0)))
  const step = width / columns.length
  const drawn = lines.map((name) => {
    const points = columns.flatMap((column, place) => {
      const ms = column[name]
      return ms === null ? [] : [`${((place + 0.5) * step).toFixed(1)},${(height - (height * ms) / most).toFixed(1)}`]
    })
    return printLine(name, points)
  })
  return frame(`Answers within ${quantiles}. The scale ends at ${most} ms.`, drawn)
}

/** One point alone would be a line without length. */
function printLine(name: string, points: readonly string[]): Html {
  const [x, y] = (points[0] ?? '').split(',')
  if (points.length === 1) return html`<circle class="${name}" cx="${x ?? 0}" cy="${y ?? 0}" r="4"/>`
  return html`<polyline class="${name}" points="${points.join(' ')}"/>`
}

function frame(label: string, content: readonly Html[]): Html {
  return html`<svg class="chart" viewBox="0 -6 ${width} ${height + 12}" role="img" aria-label="${label}" preserveAspectRatio="none"><path class="ground" d="M0 ${height}H${width}"/>${content}</svg>`
}

export function printLegend(words: Readonly<Record<string, string>>): Html {
  const keys = Object.entries(words).map(([name, word]) => html`<li><span class="key ${name}"></span>${word}</li>`)
  return html`<ul class="legend">${keys}</ul>`
}

export function printTable({ columns, startsAt, columnMs }: Columns, caption: string, counts: readonly string[]): Html {
  const rows = columns.map((column, place) => {
    const iso = after(startsAt, place * columnMs).toISOString()
    const from = columnMs < hour ? iso.slice(11, 16) : iso.slice(5, 16).replace('T', ' ')
    const cells = lines.map((name) => html`<td class="number">${printMs(column[name])}</td>`)
    return html`<tr><td>${from}</td><td class="number">${column.made}</td><td class="number">${column.accepted}</td>${cells}</tr>`
  })
  return table(caption, ['From (UTC)', ...counts, ...lines], rows)
}

function printMs(ms: number | null): string {
  return ms === null ? '–' : `${ms.toLocaleString('en')} ms`
}
