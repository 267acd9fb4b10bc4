import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { shareOf, wantedConnections } from './share.ts'

const configured = (settings: NodeJS.ProcessEnv) => readConfig(settings)

test('one process has all of it', () => {
  const config = configured({ PROCESSES: '1' })
  assert.equal(shareOf(config), config)
  assert.equal(wantedConnections(config), 10 + 3 + 2)
})

test('several processes share what is configured, and each has the least that it can work with', () => {
  const two = shareOf(configured({ PROCESSES: '2' }))
  assert.deepEqual([two.databaseConnections, two.streamConnections], [5, 1])
  assert.deepEqual([two.limits.connections, two.limits.passwordChecksAtOnce], [5_000, 1])
  const many = shareOf(configured({ PROCESSES: '16' }))
  assert.deepEqual(
    [many.databaseConnections, many.streamConnections, many.limits.passwordChecksAtOnce],
    [4, 1, 1],
  )
  assert.equal(shareOf(configured({ PROCESSES: '4', DATABASE_CONNECTIONS: '2' })).databaseConnections, 2)
})

test('what they take together counts the listening connections of each and those of the parent', () => {
  assert.equal(
    wantedConnections(configured({ PROCESSES: '3', DATABASE_CONNECTIONS: '30' })),
    3 * (10 + 1 + 2) + 2,
  )
})
