/** Whoever gets a copy of the database gets no token, code, session, password or secret that works. */

import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseWords } from '../../src/cli/command.ts'
import { keyCommands } from '../../src/cli/keys.ts'
import {
  generateKey,
  openVault,
  openVaultOf,
  printKey,
  readKeyFile,
  sealedKeyId,
} from '../../src/crypto/vault.ts'
import type { Database, Sql } from '../../src/database/database.ts'
import { rotateSecret } from '../../src/partners/client-secret.ts'
import { createService } from '../../src/services/service.ts'
import { openWebhookSecret } from '../../src/webhooks/subscriptions/webhook.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { ask } from '../support/ask.ts'
import { type Answer, Browser, postForm, send } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse, openTestGateway, password, type TestClient } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { askForConsent, makeFolder, runCommand } from '../support/process.ts'

const folder = makeFolder()
mkdirSync(folder, { recursive: true })
const keyFile = join(folder, 'secret.keys')
writeFileSync(keyFile, `${printKey(generateKey())}\n`, { mode: 0o600 })
const house = await openHouse({ SECRET_KEY: '', SECRET_KEY_FILE: keyFile }, undefined, {})

const commandSettings = () => ({ DATABASE_URL: house.databaseUrl, SECRET_KEY_FILE: keyFile })

/** Every row of every table as text; bytes as hexadecimal digits. */
async function dump(sql: Sql): Promise<string> {
  const tables = await ask<{ name: string }>(
    sql,
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  )
  assert.ok(tables.length > 12, 'there are tables to dump')
  const parts = tables.map(async ({ name }) => {
    const rows = await ask<{ line: string }>(sql, `SELECT row::text AS line FROM ${name} AS row`)
    return rows.map((row) => `${name}: ${row.line}`).join('\n')
  })
  return (await Promise.all(parts)).join('\n')
}

/** A secret in the forms in which it could lie about. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ]
}

function tokensOf(answer: Answer): { access_token: string; refresh_token: string } {
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

/** A webhook with a secret of the partner's own making, which is answered. */
async function registerWebhook(client: TestClient): Promise<string> {
  const secret = `hook-${randomBytes(12).toString('hex')}`
  const body = JSON.stringify({ url: 'https://hooks.example.com/countersign', secret })
  const headers = { 'content-type': 'application/json', ...basic(client) }
  const answer = await send(`${house.baseUrl}/v2/webhooks`, { method: 'POST', headers, body })
  assert.equal(answer.status, 201, answer.text)
  return secret
}

/** Goes everywhere that a secret is issued or typed; answers all of them by what they are. */
async function collectSecrets(): Promise<Map<string, string>> {
  const { db, vault } = house.gateway.context
  const secrets = new Map<string, string>()
  const keep = (what: string, secret: string | undefined) => {
    assert.ok(secret !== undefined && secret.length >= 12, what)
    secrets.set(what, secret)
    return secret
  }
  const user = await house.makeUser()
  const client = await house.makeClient()
  const rotating = await house.makeClient({ rotate: true })
  keep('password', password)
  keep('client secret', client.secret)
  keep(
    'newer client secret',
    (await rotateSecret(db, vault, client, { overlapMs: 60_000 }, house.act())).secret.text,
  )
  keep('service secret', (await createService(db, 'orders', 'live', house.act())).secret.text)
  keep('webhook secret', await registerWebhook(client))
  keep('personal API token', await house.makeToken(user))
  keep('sandbox token', await house.makeToken(user, 'sandbox'))

  const clumsy = new Browser(house.baseUrl)
  const fields = {
    username: keep('password typed as a username', `Pass-word-${randomBytes(6).toString('hex')}`),
  }
  await clumsy.submit(await clumsy.get('/login'), '/login', { ...fields, password: 'whatever it is' })
  const wrong = keep('wrong password', `wrong-${randomBytes(6).toString('hex')}`)
  await clumsy.submit(await clumsy.get('/login'), '/login', { username: user.username, password: wrong })
  keep('visit cookie', clumsy.cookies.get('countersign-live-visit'))

  const browser = await house.signIn(user)
  keep('session cookie', browser.cookies.get('countersign-live-session'))
  keep('device cookie', browser.cookies.get('countersign-live-device'))
  const verifier = keep('code verifier', randomBytes(32).toString('base64url'))
  const challenge = hash('sha256', verifier, 'base64url')
  const extra = { code_challenge: challenge, code_challenge_method: 'S256' }
  const code = keep('exchanged code', (await house.approve(client, browser, { extra })).get('code')!)
  keep('code that is still good', (await house.approve(client, browser)).get('code')!)

  const first = tokensOf(await house.exchange(client, code, { code_verifier: verifier }))
  keep('access token', first.access_token)
  keep('refresh token', first.refresh_token)
  const revoked = keep(
    'revoked token',
    tokensOf(await house.refresh(client, first.refresh_token)).access_token,
  )
  await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: revoked }, basic(client))

  const rotatingCode = keep(
    'code of a rotating client',
    (await house.approve(rotating, browser)).get('code')!,
  )
  const parent = tokensOf(await house.exchange(rotating, rotatingCode))
  const child = tokensOf(await house.refresh(rotating, keep('replaced refresh token', parent.refresh_token)))
  keep('refresh token that replaced it', child.refresh_token)
  keep('access token that came with it', child.access_token)
  await house.exchange(rotating, rotatingCode)
  await house.gateway.context.lastUse.flush()
  return secrets
}

test('a dump of every table holds none of the secrets that were issued or typed', async () => {
  const secrets = await collectSecrets()
  const { db } = house.gateway.context
  const text = await dump(db)
  const access = secrets.get('access token')!
  assert.ok(
    text.includes(hash('sha256', access, 'hex')),
    'the dump is read as it should be: hashes are in it',
  )
  assert.ok(text.includes('$argon2id$v=19$m=19456,t=2,p=1$'), 'and so are the hashes of passwords')
  const lowered = text.toLowerCase()
  const found = [...secrets].filter(([, secret]) =>
    formsOf(secret).some((form) => text.includes(form) || lowered.includes(form.toLowerCase())),
  )
  assert.deepEqual(
    found.map(([what]) => what),
    [],
  )
  for (const key of readKeyFile(keyFile)) {
    assert.ok(!text.includes(key.bytes.toString('hex')) && !text.includes(printKey(key)), 'no key either')
  }
})

interface SealedRow {
  readonly client_id: string
  readonly hash: Buffer
  readonly sealed: Buffer
}

function readSealed(): Promise<SealedRow[]> {
  return ask<SealedRow>(
    house.gateway.context.db,
    'SELECT client_id, hash, sealed FROM client_secrets ORDER BY id',
  )
}

function readSealedHooks(): Promise<{ webhook_id: number; sealed: Buffer }[]> {
  return ask(house.gateway.context.db, 'SELECT webhook_id, sealed FROM webhook_secrets ORDER BY id')
}

const purposeOf = (clientId: string) => `client-secret:${clientId}`

/** Every stored secret opens with this key alone, and to what was issued. */
async function checkOpensWith(keyId: string): Promise<void> {
  const keys = readKeyFile(keyFile).filter((key) => key.id === keyId)
  const vault = openVault({ kind: 'environment', keys })
  for (const { client_id, hash: stored, sealed } of await readSealed()) {
    assert.equal(sealedKeyId(sealed), keyId)
    const opened = vault.open(purposeOf(client_id), sealed)
    assert.ok(opened !== undefined)
    assert.equal(hash('sha256', opened, 'hex'), stored.toString('hex'))
  }
  for (const { webhook_id, sealed } of await readSealedHooks()) {
    assert.match(openWebhookSecret(vault, webhook_id, sealed) ?? 'does not open', /^hook-/)
  }
}

test('a sealed secret opens neither without its key, nor for another client, nor when a bit of it was changed', async () => {
  const client = await house.makeClient()
  const rows = await readSealed()
  const { sealed } = rows.find((row) => row.client_id === client.id)!
  const { vault } = house.gateway.context
  assert.equal(vault.open(purposeOf(client.id), sealed), client.secret)
  assert.equal(vault.open(purposeOf(rows[0]!.client_id), sealed), undefined)
  const stranger = openVault({ kind: 'environment', keys: [generateKey()] })
  assert.equal(stranger.open(purposeOf(client.id), sealed), undefined)
  const guessed = { ...generateKey(), id: sealedKeyId(sealed) }
  assert.equal(
    openVault({ kind: 'environment', keys: [guessed] }).open(purposeOf(client.id), sealed),
    undefined,
  )
  for (const position of sealed.keys()) {
    const changed = Buffer.from(sealed)
    changed[position] = changed[position]! ^ 1
    assert.equal(vault.open(purposeOf(client.id), changed), undefined)
  }
})

test('the same secret sealed twice looks different each time', () => {
  const { vault } = house.gateway.context
  const sealed = Array.from({ length: 100 }, () => vault.seal('test', 'secret').toString('hex'))
  assert.equal(new Set(sealed).size, 100)
})

test('"keys rotate" seals everything anew while a gateway runs, and nothing that is under way is lost', async () => {
  const { vault } = house.gateway.context
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const client = await house.makeClient({ rotate: true })
  await registerWebhook(client)
  const old = vault.currentKeyId
  const page = await askForConsent(browser, client.id)
  const issued = tokensOf(await house.exchange(client, (await house.approve(client, browser)).get('code')!))
  const first = tokensOf(await house.refresh(client, issued.refresh_token))

  const rotating = runCommand(['keys', 'rotate', '--json'], commandSettings())
  let meanwhile = 0
  let over = false
  void rotating.then(() => {
    over = true
  })
  while (!over) {
    assert.equal((await checkSecret(client)).status, 200, 'the secret verifies at every moment')
    meanwhile++
  }
  const rotated = (await rotating).json<{
    current_key: string
    secrets_sealed_anew: number
    older_keys: string[]
  }>()
  assert.ok(meanwhile > 5)
  assert.notEqual(rotated.current_key, old)
  assert.deepEqual(rotated.older_keys, [old])
  const sealed = [...(await readSealed()), ...(await readSealedHooks())]
  assert.equal(rotated.secrets_sealed_anew, sealed.length)
  await checkOpensWith(rotated.current_key)
  assert.equal(statSync(keyFile).mode & 0o777, 0o600)

  await eventually('the gateway seals with the new key', () => vault.currentKeyId === rotated.current_key)
  const approved = await browser.submit(page, '/consent', { decision: 'approve' })
  const code = new URL(approved.location!).searchParams.get('code')!
  assert.equal((await house.exchange(client, code)).status, 200, 'a request sealed before is answered after')
  assert.deepEqual(
    tokensOf(await house.refresh(client, issued.refresh_token)),
    first,
    'a retry is answered as before',
  )
  assert.equal((await house.makeClient()).secret.length, client.secret.length)
})

test('"keys prune" removes older keys, and what they had sealed for the moment no longer opens', async () => {
  const { vault } = house.gateway.context
  const client = await house.makeClient()
  const browser = await house.signIn(await house.makeUser())
  const page = await askForConsent(browser, client.id)
  const line = await keepOpen(openCommandLineAt(commandSettings()))
  await line.read('keys', 'rotate')
  const older = readKeyFile(keyFile).slice(1)
  assert.ok(older.length >= 1)
  const pruned = await line.read('keys', 'prune')
  const [current, ...rest] = readKeyFile(keyFile)
  assert.deepEqual(rest, [])
  assert.equal(pruned.current_key, current!.id)
  await checkOpensWith(current!.id)
  const without = openVault({ kind: 'environment', keys: older })
  for (const { client_id, sealed } of await readSealed()) {
    assert.equal(without.open(purposeOf(client_id), sealed), undefined, 'older keys open nothing')
  }
  await eventually('the gateway has let go of them', () => vault.keyIds.length === 1)
  assert.equal((await browser.submit(page, '/consent', { decision: 'approve' })).status, 400)
  assert.equal((await checkSecret(client)).status, 200)
  await house.approve(client, browser)
})

test('with keys in the environment "keys rotate" seals with the first of them, and a missing key is named', async () => {
  const [older, newer, unknown] = [generateKey(), generateKey(), generateKey()]
  const own = await openTestGateway({ SECRET_KEY: `${printKey(older)},${printKey(newer)}` })
  try {
    await own.makeClient()
    const { DATABASE_URL } = own.settings
    const early = openCommandLineAt({ DATABASE_URL, SECRET_KEY: `${printKey(unknown)},${printKey(older)}` })
    const refused = await early.fail('keys', 'rotate')
    await early.close()
    assert.match(refused.stderr, /^One running process does not have the key/)
    const both = openCommandLineAt({ DATABASE_URL, SECRET_KEY: `${printKey(newer)},${printKey(older)}` })
    assert.deepEqual(await both.read('keys', 'rotate'), {
      current_key: newer.id,
      secrets_sealed_anew: 1,
      older_keys: [older.id],
    })
    await both.close()
    const other = openCommandLineAt({ DATABASE_URL, SECRET_KEY: printKey(generateKey()) })
    const lost = await other.fail('keys', 'rotate')
    await other.close()
    assert.equal(lost.code, 1)
    assert.match(lost.stderr, new RegExp(`some do not open: 1 under key ${newer.id}\\. Add that key`))
  } finally {
    await own.close()
  }
})

test('rotations at the same time lose no key', async () => {
  // Remarks make the file slow to read, and a lock lets both begin at once: they do meet.
  appendFileSync(keyFile, `# ${'a remark '.repeat(7)}\n`.repeat(300_000))
  const { db } = house.gateway.context
  const turns = await db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE schema_migrations')
    const started = [1, 2].map(() => runCommand(['keys', 'rotate', '--json'], commandSettings()))
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    await eventually('both wait', async () => (await ask(db, waiting)).length === 2)
    return started
  })
  const finished = await Promise.all(turns)
  const known = readKeyFile(keyFile).map((key) => key.id)
  for (const { code, stderr, json } of finished) {
    assert.equal(code, 0, stderr)
    assert.ok(known.includes(json<{ current_key: string }>().current_key), 'a key that sealed is still there')
  }
  const vault = openVault({ kind: 'file', path: keyFile })
  for (const { client_id, sealed } of await readSealed()) assert.ok(vault.open(purposeOf(client_id), sealed))
})

/** "keys rotate" or "keys prune" in this process, over a database that may have its own ideas. */
async function runKeys(name: 'keys rotate' | 'keys prune', db: Database): Promise<void> {
  const { config, clock } = house.gateway.context
  const command = keyCommands.find((each) => each.name === name)!
  const silent = () => {}
  const print = {
    record: silent,
    table: silent,
    pages: async () => {},
    say: silent,
    json: silent,
    text: silent,
    progress: silent,
  }
  const vault = await openVaultOf(config.keySource)
  await command.run({ config, clock, db, vault, act: house.act, print }, parseWords(command, []))
}

test('a rotation in the middle of a clean-up, at whichever moment, loses no key', async () => {
  const { db } = house.gateway.context
  await house.makeClient()
  for (let moment = 1; moment <= 4; moment++) {
    await runKeys('keys rotate', db)
    let transactions = 0
    let rotation: Promise<void> | undefined
    const interrupted: Database = {
      ...db,
      async transaction(work) {
        if (++transactions === moment) {
          rotation = runKeys('keys rotate', db)
          // A clean-up that keeps others out keeps this one out too, until it is done.
          await Promise.race([rotation, wait(200)])
        }
        return db.transaction(work)
      },
    }
    await runKeys('keys prune', interrupted)
    await rotation
    const vault = openVault({ kind: 'file', path: keyFile })
    const rows = await readSealed()
    const lost = rows.filter(
      ({ client_id, sealed }) => vault.open(purposeOf(client_id), sealed) === undefined,
    )
    assert.equal(lost.length, 0, `${lost.length} of ${rows.length} secrets are lost (moment ${moment})`)
  }
})

function checkSecret(client: TestClient) {
  return postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: 'any' }, basic(client))
}
