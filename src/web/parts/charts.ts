/**
 * Charts of a period: attempts, what waited, how long it took. A column is a list item with a small SVG in it
 * and what it says in words, which is read by pointing at it, by touch and by keyboard (public/charts.js
 * moves between columns); the same numbers stand in a table.
 */
import { after, second } from '../../clock.ts'
import type { CountedColumn, Counts, Quantiles } from '../../webhooks/health/webhook-counts.ts'
import { isPeriod, type Period, periods } from '../../webhooks/subscriptions/columns.ts'
import { type Html, html } from '../frame/html.ts'
import { tellZone } from '../frame/moment.ts'
import { printMoment, table } from '../frame/parts.ts'
import type { Visit } from '../frame/visit.ts'
import { type Axis, countAxis, durationAxis, nameSpan, printDuration, printSpan, printTick } from './axes.ts'
import { printCount } from './health-words.ts'

export const chartScript = 'charts.js'

/** The period that the page's address asks for. */
export function periodOf({ query: { period } }: Visit): Period {
  return isPeriod(period) ? period : 'hour'
}

const periodWords: Record<Period, string> = {
  hour: 'hour',
  day: 'day',
  '7days': '7 days',
  '30days': '30 days',
}

interface ChartOptions {
  readonly title: string
  readonly period: Period
  /** The page's own address. */
  readonly here: string
  /** What waits at this moment, counted up to a bound. */
  readonly waiting: number
  readonly blocked: number
  /** Which durations are of interest here, and in which words. */
  readonly durations: 'answered' | 'delivered'
}

const durationWords = { answered: 'to answer', delivered: 'from published to delivered' }

export function printCharts(counts: Counts, options: ChartOptions): Html {
  const { title, period, here, waiting } = options
  const { all } = counts
  const isEmpty = attemptsOf(all) === 0 && all.waiting === 0 && waiting === 0
  return html`<section class="card" id="charts"><h2>${title}</h2>
${printPeriods(period, here)}
${
  isEmpty
    ? html`<p class="empty">No attempt was made in the last ${periodWords[period]},
  and nothing waited.</p>`
    : printFigures(counts, options)
}
${printNotes(counts)}</section>`
}

function printPeriods(period: Period, here: string): Html {
  const tabs = (Object.keys(periods) as Period[]).map(
    (each) =>
      html`<a href="${here}?period=${each}#charts"${each === period && html` aria-current="page"`}>Last
        ${periodWords[each]}</a>`,
  )
  return html`<nav class="tabs" aria-label="Period">${tabs}</nav>`
}

function printFigures(counts: Counts, options: ChartOptions): Html {
  return html`<div class="charts">
${printAttempts(counts, options.period)}
${printWaiting(counts, options)}
${printDurations(counts, options)}
</div>
<details><summary>As a table</summary>${printTable(counts, options)}</details>`
}

function printNotes({ countedSince }: Counts): Html {
  return html`<p class="small">Attempts are counted by when they were made, a few seconds later.
    What waits is looked at once a minute; a column shows the most that was seen.
Durations are accurate to within 20%.${
    countedSince &&
    html` Nothing was counted before
  ${printMoment(countedSince)}.`
  }</p>`
}

const attemptsOf = ({ accepted, refused, unreachable }: CountedColumn) => accepted + refused + unreachable
const number = (count: number) => count.toLocaleString('en')
const plural = (count: number, word: string) => `${number(count)} ${word}${count === 1 ? '' : 's'}`

function printAttempts({ all, columns, columnMs, startsAt }: Counts, period: Period): Html {
  const made = attemptsOf(all)
  const rate =
    made === 0
      ? 'none was made'
      : `${((100 * all.accepted) / made).toFixed(1)} % accepted, ${printRate(made, period)}`
  return printFigure({
    caption: html`<strong>${number(made)}</strong> ${made === 1 ? 'attempt' : 'attempts'}, ${rate}`,
    label: `Attempts in each ${nameSpan(columnMs)}`,
    unit: `attempts in ${nameSpan(columnMs)}`,
    axis: countAxis(Math.max(...columns.map(attemptsOf))),
    legend: { accepted: 'accepted', failed: 'failed' },
    ...{ startsAt, columnMs },
    columns: columns.map((column) => ({
      bars: [
        { name: 'accepted', value: column.accepted },
        { name: 'failed', value: column.refused + column.unreachable },
      ],
      reading: describeAttempts(column),
    })),
  })
}

function describeAttempts(column: CountedColumn): string {
  const { accepted, refused, unreachable } = column
  return `${plural(attemptsOf(column), 'attempt')}: ${number(accepted)} accepted, ${number(refused)} refused, ${number(unreachable)} unreachable`
}

function printRate(made: number, period: Period): string {
  const perSecond = (made * second) / (periods[period].columns * periods[period].columnMs)
  if (perSecond >= 1) return `${perSecond.toFixed(1)} a second`
  return perSecond * 60 >= 1
    ? `${(perSecond * 60).toFixed(1)} a minute`
    : `${(perSecond * 3_600).toFixed(1)} an hour`
}

function printWaiting({ columns, columnMs, startsAt }: Counts, { waiting, blocked }: ChartOptions): Html {
  const behind = blocked > 0 && `, ${printCount(blocked)} of them queued behind an earlier one`
  return printFigure({
    caption: html`<strong>${printCount(waiting)}</strong> waiting now${behind}`,
    label: `Deliveries waiting in each ${nameSpan(columnMs)}, the most at once`,
    unit: 'deliveries, the most at once',
    axis: countAxis(Math.max(...columns.map((column) => column.waiting))),
    legend: { waiting: 'due, or waiting for a retry', blocked: 'queued behind an earlier one' },
    ...{ startsAt, columnMs },
    columns: columns.map((column) => ({
      bars: [
        { name: 'waiting', value: column.waiting - column.blocked },
        { name: 'blocked', value: column.blocked },
      ],
      reading: `${number(column.waiting)} waiting, ${number(column.blocked)} of them queued behind an earlier one`,
    })),
  })
}

const lines = ['p50', 'p95', 'p99'] as const

function printDurations({ all, columns, columnMs, startsAt }: Counts, { durations }: ChartOptions): Html {
  const { p95 } = all[durations]
  return printFigure({
    caption: html`<strong>${p95 === null ? '–' : printDuration(p95)}</strong> ${durationWords[durations]},
      for 95 of 100`,
    label: `Time ${durationWords[durations]}, in each ${nameSpan(columnMs)}`,
    unit: `time ${durationWords[durations]}`,
    axis: durationAxis(Math.max(1, ...columns.map((column) => column[durations].p99 ?? 0))),
    legend: { p50: 'p50', p95: 'p95', p99: 'p99' },
    ...{ startsAt, columnMs },
    columns: columns.map((column) => ({
      marks: column[durations],
      reading: describeDurations(column[durations]),
    })),
  })
}

function describeDurations({ p50, p95, p99 }: Quantiles): string {
  if (p50 === null || p95 === null || p99 === null) return 'nothing to measure'
  return `half within ${printDuration(p50)}, 95 % within ${printDuration(p95)}, 99 % within ${printDuration(p99)}`
}

interface Bar {
  readonly name: string
  readonly value: number
}

interface DrawnColumn {
  /** Stacked, from the ground up. */
  readonly bars?: readonly Bar[]
  readonly marks?: Quantiles
  /** What it says, in words. */
  readonly reading: string
}

interface Figure {
  readonly caption: Html
  readonly label: string
  readonly unit: string
  readonly axis: Axis
  readonly legend: Readonly<Record<string, string>>
  readonly startsAt: Date
  readonly columnMs: number
  readonly columns: readonly DrawnColumn[]
}

/** The newest column is reached by the tab key, the others by the arrows from there. */
function printFigure({ caption, label, unit, axis, legend, startsAt, columnMs, columns }: Figure): Html {
  const items = columns.map((column, place) => {
    const from = after(startsAt, place * columnMs)
    const tick = printTick(from, columnMs)
    const newest = place === columns.length - 1
    return html`<li tabindex="${newest ? 0 : -1}">${draw(column, axis.top)}<span
      class="reading">${printSpan(columnMs, from)}: ${column.reading}</span>${
        tick &&
        html`<span
      class="moment" aria-hidden="true">${tick}</span>`
      }</li>`
  })
  const scale = axis.labels.map((each) => html`<li>${each}</li>`)
  const keys = Object.entries(legend).map(
    ([name, word]) => html`<li><span class="key ${name}"></span>${word}</li>`,
  )
  return html`<figure><figcaption>${caption}</figcaption>
<p class="unit">${unit}</p>
<div class="plot"><ol class="scale" aria-hidden="true">${scale}</ol><ol class="columns"
  aria-label="${label}">${items}</ol></div>
<p class="unit">time, ${tellZone(startsAt)}</p>
<ul class="legend">${keys}</ul></figure>`
}

const height = 100
const width = 10

function draw({ bars = [], marks }: DrawnColumn, top: number): Html {
  const heightOf = (value: number) => (height * value) / top
  let ground = height
  const stacked = bars.map(({ name, value }) => {
    ground -= heightOf(value)
    return value > 0 && printRect(name, 1.5, ground, 7, heightOf(value))
  })
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none"
    aria-hidden="true">${stacked}${marks && drawMarks(marks, heightOf)}</svg>`
}

/** A mark for each quantile, on a thin line from the lowest to the highest. */
function drawMarks(marks: Quantiles, heightOf: (value: number) => number): Html | undefined {
  const { p50, p99 } = marks
  if (p50 === null || p99 === null) return undefined
  const ticks = lines.map((name) => printRect(name, 1.5, height - heightOf(marks[name] ?? 0) - 1.5, 7, 3))
  return html`${printRect('reach', 4.6, height - heightOf(p99), 0.8, heightOf(p99 - p50))}${ticks}`
}

function printRect(name: string, x: number, y: number, wide: number, tall: number): Html {
  return html`<rect class="${name}" x="${x}" y="${y.toFixed(1)}" width="${wide}"
    height="${tall.toFixed(1)}"/>`
}

function printTable({ columns, startsAt, columnMs }: Counts, { title, durations }: ChartOptions): Html {
  const rows = columns.map((column, place) => {
    const { accepted, refused, unreachable, waiting, blocked } = column
    const numbers = [attemptsOf(column), accepted, refused, unreachable, waiting, blocked].map(number)
    const times = lines.map((name) => printTime(column[durations][name]))
    const cells = [...numbers, ...times].map((each) => html`<td class="number">${each}</td>`)
    return html`<tr><td>${printSpan(columnMs, after(startsAt, place * columnMs))}</td>${cells}</tr>`
  })
  const counted = [
    'Attempts',
    'Accepted',
    'Refused',
    'Unreachable',
    'Waiting',
    'Queued behind an earlier one',
  ]
  return table(title, ['Time', ...counted, ...lines], rows)
}

function printTime(ms: number | null): string {
  return ms === null ? '–' : printDuration(ms)
}
