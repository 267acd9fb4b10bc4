/** Keys that a command prints: at each start, on every node, and anew at a rotation. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateKey, openVaultOf, parseKey, printKey } from '../../src/crypto/vault.ts'
import { shareKeys } from '../../src/database/keys.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { readConfig } from '../../src/settings/config.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { postForm } from '../support/browser.ts'
import { newFolder } from '../support/folder.ts'
import { basic, nodeOptions, openHouse } from '../support/gateway.ts'

import { keepOpen } from '../support/keep-open.ts'

const store = newFolder('key-command')
const [first, second, third] = [generateKey(), generateKey(), generateKey()].map(printKey) as [
  string,
  string,
  string,
]
const idOf = (key: string) => parseKey(key)!.id
/** What the vault of the brokerage holds, for one node. */
const keep = (name: string, ...keys: string[]) => writeFileSync(join(store, name), `${keys.join('\n')}\n`)
const commandOf = (name: string) => ({ SECRET_KEY: '', SECRET_KEY_COMMAND: `cat '${join(store, name)}'` })

keep('one', first)
keep('two', first)
const house = await openHouse(commandOf('one'))
const settingsOf = (name: string) => ({ ...house.settings, ...commandOf(name) })
const other = await keepOpen(
  openGateway(readConfig(settingsOf('two')), { clock: house.clock, ...nodeOptions }),
)
const line = await keepOpen(openCommandLineAt(settingsOf('one')))

test('a rotation waits until every node has the key, and seals nothing while one has not', async () => {
  const client = await house.makeClient()
  keep('one', second, first)
  const { db, vault } = house.gateway.context
  const fresh = await openVaultOf({ kind: 'command', line: `cat '${join(store, 'one')}'` })
  await assert.rejects(shareKeys(db, fresh, 1_000), (error: Error) => {
    assert.match(error.message, /^One running process does not have the key [0-9a-f]{8}; its log says why\./)
    assert.ok(error.message.includes(idOf(second)) && !error.message.includes(second))
    return true
  })
  assert.equal(other.context.vault.currentKeyId, idOf(first))

  keep('two', second, first)
  const rotated = await line.read('keys', 'rotate')
  assert.equal(rotated.current_key, idOf(second))
  assert.ok(Number(rotated.secrets_sealed_anew) >= 1)
  for (const node of [vault, other.context.vault]) assert.equal(node.currentKeyId, idOf(second))
  for (const url of [house.baseUrl, other.baseUrl])
    assert.equal((await postForm(`${url}/v1/oauth/introspect`, { token: 'any' }, basic(client))).status, 200)

  const pruned = await line.run('keys', 'prune')
  assert.match(pruned.stdout, /SECRET_KEY_COMMAND may now print it alone\./)
})

test('another key in the place of the one in use reaches no node and no secret', async () => {
  const client = await house.makeClient()
  const { vault } = house.gateway.context
  const held = vault.currentKeyId
  keep('one', third)
  const { code, stderr } = await line.fail('keys', 'rotate')
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`under key ${held}`))
  assert.ok(!stderr.includes(third))
  assert.equal(vault.currentKeyId, held)
  assert.equal(
    (await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: 'any' }, basic(client))).status,
    200,
  )
  keep('one', second)
})

test('a command that fails keeps a node from starting, in words, and the doctor says the same', async () => {
  const settings = { ...settingsOf('one'), SECRET_KEY_COMMAND: 'echo "permission denied" >&2; exit 2' }
  const said = 'SECRET_KEY_COMMAND ended with exit code 2: permission denied'
  await assert.rejects(openGateway(readConfig(settings), nodeOptions), { message: said })
  const results = await examine(() => readConfig(settings), house.clock)
  const keys = results.find(({ check }) => check === 'keys')!
  assert.deepEqual([keys.state, keys.found], ['fail', said])
  const well = await examine(() => readConfig(settingsOf('one')), house.clock)
  assert.match(
    well.find(({ check }) => check === 'keys')!.found,
    /^One key \([0-9a-f]{8}\) from SECRET_KEY_COMMAND\.$/,
  )
})

test('keys of a command are written nowhere, and its line is not shown', async () => {
  const { config } = house.gateway.context
  const files = readdirSync(config.dataDir, { recursive: true, withFileTypes: true })
  for (const file of files.filter((each) => each.isFile()))
    assert.ok(!readFileSync(join(file.parentPath, file.name), 'utf8').includes(second))
  const shown = config.settings.find(({ name }) => name === 'SECRET_KEY_COMMAND')!
  assert.equal(shown.value, '••••••')
})
