import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHosts } from './hosts.ts'

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
