/**
 * A gateway that is told to stop closes whatever it opened, whether or not its database is there to be told.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ask } from '../support/ask.ts'

import { openTestGateway } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'

test('a gateway whose database has gone closes everything all the same', async () => {
  const house = await openTestGateway({ METRICS_PORT: '0' })
  const { baseUrl, gateway, databaseUrl } = house
  const name = /\/(t_\w+)\?/.exec(databaseUrl)![1]!
  const elsewhere = openLenientDatabase({
    connectionString: databaseUrl.replace(name, 'countersign'),
    connections: 1,
  })
  after(() => elsewhere.close())
  const run = (text: string) => ask(elsewhere, text)
  await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  await gateway.close()
  await assert.rejects(fetch(`${baseUrl}/healthz`))
  await assert.rejects(fetch(gateway.metricsUrl!))
  await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await house.close()
})
