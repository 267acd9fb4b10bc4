/** Two charts of all webhooks together: how many deliveries there were, and how soon they were delivered. */
import { second } from '../../clock.ts'
import { type Period, periods } from '../../webhooks/columns.ts'
import { lookedAtAColumn, type Throughput } from '../../webhooks/delivery-statistics.ts'
import { printBars, printLatency, printLegend, printPeriods, printTable, tallest } from '../frame/charts.ts'
import { type Html, html } from '../frame/html.ts'

const count = (number: number) => number.toLocaleString('en')

export function printThroughput(throughput: Throughput, period: Period, here: string): Html {
  return html`<section class="card" id="charts"><h2>Deliveries of all webhooks</h2>
${printPeriods(period, here)}
${throughput.all.made === 0 ? html`<p class="empty">No delivery was created in the last ${period}.</p>` : printBoth(throughput, period)}</section>`
}

function printBoth(throughput: Throughput, period: Period): Html {
  const { all, columns, isSampled } = throughput
  const perSecond = (all.made * second) / (periods[period].columns * periods[period].columnMs)
  const label = `${count(all.made)} created, ${isSampled ? 'about ' : ''}${count(all.accepted)} of them delivered. The tallest column has ${count(tallest(columns))}.`
  return html`<div class="charts">
<figure><figcaption><strong>${count(all.made)}</strong> created, ${printRate(perSecond)}</figcaption>${printBars(columns, label)}${printLegend({ accepted: 'delivered', failed: 'not delivered, or not yet' })}</figure>
${printLatency(throughput, 'p95 from created to delivered')}
</div>
<p class="small">Live and sandbox together, by when deliveries were created (UTC). What was sent again by hand does not count as soon or late.
${isSampled ? printSample() : 'Every delivery of the period was looked at.'}</p>
<details><summary>As a table</summary>${printTable(throughput, 'Deliveries', ['Created', 'Delivered'])}</details>`
}

function printSample(): string {
  return (
    `This is a sample: ${lookedAtAColumn} deliveries of each column are looked at, spread evenly. ` +
    'Where there are more, how many were created follows from their numbers, of which a failed transaction may have lost some.'
  )
}

function printRate(perSecond: number): string {
  return perSecond >= 1 ? `${perSecond.toFixed(1)} a second` : `${(60 * perSecond).toFixed(1)} a minute`
}
