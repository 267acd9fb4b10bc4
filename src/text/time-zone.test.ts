import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hour } from '../clock.ts'
import { findTimeZone, momentsOf, printOffset, utc, wallClock } from './time-zone.ts'

const berlin = findTimeZone('Europe/Berlin')!

test('a zone is found by its name, and nothing else is one', () => {
  for (const name of [
    'UTC',
    'Europe/Berlin',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+5',
  ])
    assert.equal(findTimeZone(name)?.name, name)
  const hostile = [
    '',
    'Europe',
    '../etc/passwd',
    'Europe/Berlin\r\nSet-Cookie: a=b',
    '<b>',
    'x'.repeat(65),
    'UTC '.repeat(9),
  ]
  for (const name of hostile) assert.equal(findTimeZone(name), undefined, name)
})

test('an offset is said in hours, and in minutes where there are any', () => {
  assert.deepEqual([0, hour, -5 * hour, 5.5 * hour, -3.5 * hour].map(printOffset), [
    'UTC',
    'UTC+1',
    'UTC-5',
    'UTC+5:30',
    'UTC-3:30',
  ])
})

test('a moment that clocks say is the moment, but for the hour that is skipped and the one that comes twice', () => {
  const at = (text: string) => momentsOf(new Date(`${text}Z`), berlin).map((each) => each.toISOString())
  assert.deepEqual(at('2026-03-02T10:00'), ['2026-03-02T09:00:00.000Z'])
  assert.deepEqual(at('2026-03-29T02:30'), [])
  assert.deepEqual(at('2026-10-25T02:30'), ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z'])
  assert.deepEqual(momentsOf(new Date('2026-10-25T02:30Z'), utc).length, 1)
})

test('whatever the zone and the moment, clocks lead back to it', () => {
  const zones = Intl.supportedValuesOf('timeZone').map((name) => findTimeZone(name)!)
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
      (zone, at) => {
        const found = momentsOf(wallClock(at, zone), zone)
        assert.ok(
          found.length <= 2 && found.some((each) => each.getTime() === at.getTime()),
          `${zone.name} ${at.toISOString()}`,
        )
      },
    ),
    { numRuns: 2_000 },
  )
})
