/**
 * The charts of a webhook in the portal: what they say in words, for whom they are drawn, and what stands
 * behind their numbers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../../src/clock.ts'
import { countWaiting } from '../../../src/webhooks/health/webhook-counts.ts'
import { transaction } from '../../support/branch.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openPartner } from '../../support/portal.ts'
import { answer, openReceiver } from '../../support/receiver.ts'

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const own = await openPartner(house)
const id = await own.program.register(receiver.url('/charted'))
const webhook = `${own.home}/webhooks/${id}`
await own.program.fire()
// It says when it wants the next attempt, so that none is made while its charts are looked at.
receiver.on('/charted', answer(500, { 'retry-after': '86400' }))
await own.program.fire(transaction({ transactionId: 1 }))
// This one waits behind that.
await own.program.fire(transaction({ transactionId: 1 }), 1)
// A worker counts an attempt when it has heard that it is written down.
await eventually('two attempts that are counted', async () => {
  await house.gateway.context.attemptCounter.flush()
  return /<strong>2<\/strong> attempts/.test((await own.browser.get(webhook)).text)
})
await countWaiting(house.gateway.context.db, house.clock.now())
house.clock.advance(2 * minute)

const rowsOf = (text: string) => {
  const [, rows] = /<caption class="unseen">Attempts<\/caption>.*?<tbody[^>]*>(.*?)<\/tbody>/s.exec(text)!
  return [...rows!.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, cell]) => cell!),
  )
}

for (const [period, columns, span] of [
  ['hour', 12, '5 minutes'],
  ['day', 24, 'hour'],
  ['7days', 28, '6 hours'],
  ['30days', 30, 'day'],
] as const)
  test(`attempts, what waits and how soon it answers are shown over the period ${period}, in ${columns} columns with axes and units`, async () => {
    const { text } = await own.browser.get(`${webhook}?period=${period}`)
    assert.match(text, /<strong>2<\/strong> attempts, 50\.0 % accepted/)
    assert.match(text, /<strong>2<\/strong> waiting now, 1 of them queued behind an earlier one/)
    assert.match(text, new RegExp(`<p class="unit">attempts in ${span}</p>`))
    assert.equal(text.split('<p class="unit">time, UTC</p>').length - 1, 3)
    assert.match(text, /<ol class="scale" aria-hidden="true"><li>2<\/li><li>1<\/li><li>0<\/li><\/ol>/)
    const readings = [...text.matchAll(/<span class="reading">([^<]*)<\/span>/g)].map(
      ([, reading]) => reading!,
    )
    assert.equal(readings.length, 3 * columns)
    assert.ok(
      readings.some((reading) => / UTC: 2 attempts: 1 accepted, 1 refused, 0 unreachable$/.test(reading)),
    )
    assert.ok(
      readings.some((reading) => / UTC: 2 waiting, 1 of them queued behind an earlier one$/.test(reading)),
    )
    assert.ok(
      readings.some((reading) => /half within \d+ ms, 95 % within \d+ ms, 99 % within \d+ ms$/.test(reading)),
    )
    assert.equal(text.split('<li tabindex="0">').length - 1, 3, 'one step of the tab key a chart')
    const rows = rowsOf(text)
    assert.equal(rows.length, columns)
    const counted = rows.map((row) => row.slice(1, 7).map(Number))
    const sum = counted.reduce((total, row) => total.map((each, place) => each + row[place]!))
    assert.deepEqual(sum, [2, 1, 1, 0, 2, 1])
    assert.doesNotMatch(text, / style="/, 'the policy of the page lets no style in')
  })

test('the number that waits leads to all that wait, also to what is behind another', async () => {
  for (const page of [webhook, own.home]) {
    const { text } = await own.browser.get(page)
    const [, path, count] = /Waiting<\/dt>\s*<dd><a href="([^"]+)">(\d+)</.exec(text)!
    assert.equal(count, '2')
    const list = await own.browser.get(path!.replaceAll('&amp;', '&'))
    assert.deepEqual(
      [...list.text.matchAll(/<span class="state \w+">(retrying|queued behind #)/g)]
        .map(([, state]) => state)
        .sort(),
      ['queued behind #', 'retrying'],
    )
  }
})

test('where nothing was sent and nothing waits the charts say so, and a period that there is none of is the hour', async () => {
  const quiet = await own.program.register(receiver.url('/quiet'))
  const { text } = await own.browser.get(`${own.home}/webhooks/${quiet}?period=7days`)
  assert.match(text, /No attempt was made in the last 7 days, and nothing waited\./)
  const odd = await own.browser.get(`${webhook}?period=constructor`)
  assert.match(odd.text, /aria-current="page">Last hour</)
})

test('before the first count the page says since when it counts', async () => {
  const { text } = await own.browser.get(`${webhook}?period=30days`)
  assert.match(text, /Nothing was counted before <time/)
})
