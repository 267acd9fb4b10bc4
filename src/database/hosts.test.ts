import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atServer, parseHosts } from './hosts.ts'

const cases: Record<string, string[]> = {
  'postgresql://user:pass@one:5432/name': ['postgresql://user:pass@one:5432/name'],
  'postgresql://user:p%40ss@one:5432,two:5433/name': [
    'postgresql://user:p%40ss@one:5432/name',
    'postgresql://user:p%40ss@two:5433/name',
  ],
  'postgres://one,[::1]:5433/name?sslmode=require&target_session_attrs=read-write': [
    'postgres://one/name?sslmode=require',
    'postgres://[::1]:5433/name?sslmode=require',
  ],
  'postgresql://user@/name?host=%2Fa,%2Fb': [
    'postgresql://user@/name?host=%2Fa',
    'postgresql://user@/name?host=%2Fb',
  ],
  'postgresql://user@/name?host=one,two&port=1,2': [
    'postgresql://user@/name?host=one&port=1',
    'postgresql://user@/name?host=two&port=2',
  ],
  'postgresql://user@/name?host=%2Fa%2Cb&sslmode=disable': [
    'postgresql://user@/name?host=%2Fa%2Cb&sslmode=disable',
  ],
  'postgresql://user@/name?host=one,two&port=1': [
    'postgresql://user@/name?host=one&port=1',
    'postgresql://user@/name?host=two&port=1',
  ],
}

for (const [given, expected] of Object.entries(cases)) {
  test(`${given} names ${expected.length} of them`, () => assert.deepEqual(parseHosts(given), expected))
}

const moved: Record<string, string> = {
  'postgresql://user:p%40ss@one:5432,two:5433/name?sslmode=require':
    'postgresql://user:p%40ss@worker:6432/name?sslmode=require',
  'postgresql://user@/name?host=%2Fa&port=5433': 'postgresql://user@worker:6432/name',
  'postgresql:///name?host=one&application_name=a': 'postgresql://worker:6432/name?application_name=a',
}

for (const [given, expected] of Object.entries(moved))
  test(`${given} on another server`, () =>
    assert.equal(atServer(given, { host: 'worker', port: 6432 }), expected))

test('another server may be named by an address of IPv6', () =>
  assert.equal(atServer('postgresql://u@one/name', { host: '::1', port: 1 }), 'postgresql://u@[::1]:1/name'))
