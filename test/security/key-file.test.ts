/**
 * A key file that is away never becomes a new key: not while the gateway runs, not at the next start, not by
 * a command.
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeKeyFile } from '../../src/crypto/vault.ts'
import { selectIsSealed } from '../../src/database/keys.sql.ts'
import { openKeys } from '../../src/database/keys.ts'
import { ask } from '../support/ask.ts'
import { newFolder } from '../support/folder.ts'
import { openTestGateway } from '../support/gateway.ts'
import { hears } from '../support/oauth.ts'

test('a gateway whose key file is away goes on with the keys it has, and none starts with a new one', async (t) => {
  const path = join(newFolder('keys'), 'secret.keys')
  makeKeyFile(path)
  const house = await openTestGateway({ SECRET_KEY: undefined, SECRET_KEY_FILE: path })
  t.after(() => house.close())
  const { db, vault } = house.gateway.context
  const key = readFileSync(path, 'utf8')
  const client = await house.makeClient()
  renameSync(path, `${path}.away`)

  // What a request brings may be sealed with any key: it makes a node look at the file.
  const foreign = Buffer.concat([Buffer.from('ffffffff', 'hex'), vault.seal('p', 'x').subarray(4)])
  assert.equal(vault.open('p', foreign), undefined)
  const heard = hears(house.gateway, 'keys:rotated')
  await ask(db, "SELECT announce('keys:rotated')")
  await heard
  assert.equal(existsSync(path), false)
  const refused = await house.signIn(await house.makeUser())
  assert.equal((await refused.get('/account')).status, 200, 'pages are answered')
  assert.ok(client.secret)

  await assert.rejects(openKeys(db, { kind: 'file', path }), (error: Error) => {
    assert.ok(error.message.includes(path), error.message)
    assert.match(error.message, /No new key was made\. Put the file back, from a backup or from another node/)
    return true
  })
  assert.equal(existsSync(path), false)
  renameSync(`${path}.away`, path)
  assert.deepEqual((await openKeys(db, { kind: 'file', path })).keyIds, vault.keyIds)
  assert.equal(readFileSync(path, 'utf8'), key)
})

test('every table with something sealed that stays is asked before a key is made', async (t) => {
  const house = await openTestGateway()
  t.after(() => house.close())
  const columns = await ask<{ table: string }>(
    house.gateway.context.db,
    `SELECT table_name AS table FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_name = 'sealed' AND data_type = 'bytea'`,
  )
  // Under way for half an hour at most.
  const passing = ['kept_forms', 'provider_sign_ins']
  const lasting = columns.map(({ table }) => table).filter((table) => !passing.includes(table))
  assert.ok(lasting.length >= 6)
  for (const table of lasting) assert.ok(selectIsSealed.text.includes(`FROM ${table})`), table)
})
