import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networksOf } from './subnet.ts'

const namesOf = (address: string) => networksOf(address).map(({ name }) => name)

test('an IPv6 address counts for its /64, its /56 and its /48, each with more room than the one before', () => {
  assert.deepEqual(networksOf('2001:db8:1:2345:6789::1'), [
    { name: '2001:db8:1:2345', times: 1 },
    { name: '2001:db8:1:2300/56', times: 4 },
    { name: '2001:db8:1/48', times: 16 },
  ])
  assert.deepEqual(namesOf('2001:db8:1:23ff::1').slice(1), namesOf('2001:db8:1:2300::9').slice(1))
  assert.equal(namesOf('2001:db8::1')[2], namesOf('2001:db8:0:ffff::1')[2])
  assert.notEqual(namesOf('2001:db8:1::1')[2], namesOf('2001:db8:2::1')[2])
})

test('an IPv4 address counts for itself alone, whatever it is dressed in', () => {
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7']) assert.deepEqual(namesOf(address), ['192.0.2.7'])
})
