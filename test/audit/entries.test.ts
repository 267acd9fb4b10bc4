/**
 * Every act that matters leaves an entry: who did what to whom, when and from where. No act without its
 * entry.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { theBrokerage } from '../../src/alerts/target.ts'
import type { AuditAction } from '../../src/audit/action.ts'
import { type AuditEntry, gatewayAct } from '../../src/audit/audit.ts'
import { entryColumns } from '../../src/audit/entries.sql.ts'
import { parseWords } from '../../src/cli/command.ts'
import { commands as allCommands } from '../../src/cli/commands.ts'
import { minute, second } from '../../src/clock.ts'
import { generateKey, writeKeyFile } from '../../src/crypto/vault.ts'
import { listKeys } from '../../src/partners/client-keys.ts'
import { applyAsPartner } from '../../src/partners/partner.ts'
import { askForScopes } from '../../src/partners/scope-request.ts'
import type { User } from '../../src/users/user.ts'
import { queueAddress } from '../support/alerts.ts'
import { ask } from '../support/ask.ts'
import { type Answer, type Browser, Browser as NewBrowser, postForm } from '../support/browser.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { basic, openHouse, password, type TestClient } from '../support/gateway.ts'
import { askForConsent, makeFolder, secretFile } from '../support/process.ts'
import { draftUpstream } from '../support/upstream.ts'
import { approveForm } from '../support/web.ts'

const keyFile = `${makeFolder()}/secret.keys`

writeKeyFile(keyFile, [generateKey()])
const house = await openHouse({ SECRET_KEY: '', SECRET_KEY_FILE: keyFile })
const db = house.gateway.context.db

const selectNewer = `SELECT ${entryColumns} FROM audit_entries WHERE id > $1 ORDER BY id`
const selectLast = 'SELECT coalesce(max(id), 0) AS id FROM audit_entries'

async function entriesOf(act: () => Promise<unknown>): Promise<AuditEntry[]> {
  const [last] = await ask<{ id: number }>(db, selectLast)
  await act()
  return ask<AuditEntry>(db, selectNewer, [last!.id])
}

interface ExpectedEntry {
  readonly action: AuditAction
  readonly actor: string
  readonly subject: string
}

/** The one entry of an act over HTTP: its answer names the request, and the clock stands still. */
async function check(act: () => Promise<Answer>, expected: ExpectedEntry): Promise<AuditEntry> {
  let answer: Answer | undefined
  const [entry, ...rest] = await entriesOf(async () => {
    answer = await act()
  })
  assert.deepEqual(rest, [])
  assert.ok(entry, `${expected.action} left nothing: ${answer!.status} ${answer!.text}`)
  const { action, actor, subject } = entry
  assert.deepEqual({ action, actor, subject }, expected)
  assert.deepEqual(entry.at, house.clock.now(), 'when')
  assert.equal(entry.address, '127.0.0.1', 'from where')
  assert.equal(entry.environment, 'live')
  assert.equal(entry.requestId, answer!.headers['x-request-id'], 'by which request')
  return entry
}

const login = async (browser: Browser, username: string, typed = password, path = '/login') =>
  browser.submit(await browser.get(path), '/login', { username, password: typed })

const self = (user: User) => ({ actor: `user:${user.id}`, subject: `user:${user.id}` })

test('a sign-in, its confirmation and a sign-out are recorded', async () => {
  const user = await house.makeUser()
  const browser = new NewBrowser(house.baseUrl)
  const opened = await check(() => login(browser, user.username), { action: 'session.opened', ...self(user) })
  assert.deepEqual(Object.keys(opened.details), ['userAgent'])
  await check(() => login(browser, user.username, password, '/login?confirm=1'), {
    action: 'session.confirmed',
    ...self(user),
  })
  const page = await browser.get('/account')
  await check(() => browser.submit(page, '/logout', {}), { action: 'session.closed', ...self(user) })
})

test('a refused sign-in is recorded, with the user when there is one and without what was typed', async () => {
  const user = await house.makeUser()
  const browser = new NewBrowser(house.baseUrl)
  const refused = { action: 'session.refused', actor: 'anonymous' } as const
  const subject = `user:${user.id}`
  await check(() => login(browser, user.username, 'wrong'), { ...refused, subject })
  const entry = await check(() => login(browser, 'nobody-of-that-name'), {
    ...refused,
    subject: 'user:unknown',
  })
  assert.doesNotMatch(JSON.stringify(entry), /nobody-of-that-name/)
  for (let failure = 2; failure < 5; failure++) await login(browser, user.username, 'wrong')
  const other = await house.makeUser()
  for (let failure = 1; failure < 5; failure++) await login(browser, other.username, 'wrong')
  await check(() => login(browser, other.username, 'wrong'), {
    action: 'session.throttled',
    actor: 'anonymous',
    subject: `user:${other.id}`,
  })
})

test('approval, denial and revocation of an application are recorded', async () => {
  const user = await house.makeUser()
  const client = await house.makeClient()
  const browser = await house.signIn(user)
  const of = { actor: `user:${user.id}`, subject: `client:${client.id}` }
  const page = await askForConsent(browser, client.id, 'read trade')
  const approve = () => browser.post('/consent', approveForm(page))
  const approved = await check(approve, { action: 'authorization.approved', ...of })
  assert.deepEqual(approved.details.scopes, ['read', 'trade'])
  assert.equal(approved.details.userId, user.id)

  const again = await askForConsent(browser, client.id)
  const deny = () => browser.submit(again, '/consent', { decision: 'deny' })
  await check(deny, { action: 'authorization.denied', ...of })

  const account = await browser.get('/account')
  const revoke = () => browser.submit(account, '/account/revoke', {})
  const revoked = await check(revoke, { action: 'authorization.revoked', ...of })
  assert.equal(revoked.details.authorizationId, approved.details.authorizationId)
})

test('leaving the login page is recorded as a denial by somebody unknown', async () => {
  const client = await house.makeClient()
  const stranger = new NewBrowser(house.baseUrl)
  const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
  const start = await stranger.get(`/v1/oauth/authorize?${query}`)
  const page = await stranger.get(start.location!)
  await check(() => stranger.submit(page, '/login/cancel', {}), {
    action: 'authorization.denied',
    actor: 'anonymous',
    subject: `client:${client.id}`,
  })
})

async function connect(options: { rotate?: boolean } = {}) {
  const user = await house.makeUser()
  const client = await house.makeClient(options)
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  return { user, client, code, by: { actor: `client:${client.id}`, subject: `user:${user.id}` } }
}

async function grantOf(user: User): Promise<string> {
  const [grant] = await ask<{ id: number }>(db, 'SELECT id FROM grants WHERE user_id = $1', [user.id])
  return `grant:${grant!.id}`
}

function tokensOf(answer: Answer): { access_token: string; refresh_token: string } {
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

test('an exchange, its replay and a foreign presentation of a code are recorded', async () => {
  const { user, client, code, by } = await connect()
  const subject = await grantOf(user)
  const other = await house.makeClient()
  await check(() => house.exchange(other, code), {
    action: 'code.presented_by_other_client',
    actor: `client:${other.id}`,
    subject,
  })
  await check(() => house.exchange(client, code), { action: 'code.exchanged', ...by })
  await check(() => house.exchange(client, code), { action: 'code.replayed', actor: by.actor, subject })
})

test('a refresh and the revocation of a token are recorded', async () => {
  const { client, code, by } = await connect()
  const { access_token, refresh_token } = tokensOf(await house.exchange(client, code))
  await check(() => house.refresh(client, refresh_token), { action: 'token.refreshed', ...by })
  const revoke = (token: string) => postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(client))
  const access = await check(() => revoke(access_token), { action: 'token.revoked', ...by })
  assert.equal(access.details.kind, 'access')
  const refresh = await check(() => revoke(refresh_token), { action: 'token.revoked', ...by })
  assert.equal(refresh.details.kind, 'refresh')
  assert.deepEqual(
    await entriesOf(() => revoke(refresh_token)),
    [],
    'a revocation that changes nothing is none',
  )
})

test('a rotation and the reuse of a replaced refresh token are recorded', async () => {
  const { user, client, code, by } = await connect({ rotate: true })
  const { refresh_token } = tokensOf(await house.exchange(client, code))
  await check(() => house.refresh(client, refresh_token), { action: 'token.rotated', ...by })
  house.clock.advance(31 * second)
  const subject = await grantOf(user)
  await check(() => house.refresh(client, refresh_token), {
    action: 'token.reuse_detected',
    actor: by.actor,
    subject,
  })
})

test('making and revoking an API token on the page are recorded, without the token', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/api')
  const fields = { name: 'spreadsheet', environment: 'live' }
  let made: Answer | undefined
  const create = async () => {
    made = await browser.submit(page, '/account/api/tokens', fields)
    return made
  }
  const created = await check(create, { action: 'api_token.created', ...self(user) })
  assert.equal(created.details.name, 'spreadsheet')
  const token = /<code class="secret">(\w+)</.exec(made!.text)![1]!
  assert.ok(!JSON.stringify(created).includes(token))
  const revoke = () => browser.submit(made!, '/account/api/revoke', {})
  const revoked = await check(revoke, { action: 'api_token.revoked', ...self(user) })
  assert.equal(revoked.details.tokenId, created.details.tokenId)
})

/**
 * Those that work on the database; a test of a provider asks it, and has tests of its own. What is done to
 * webhooks and deliveries is recorded by whoever does it, page, interface or command: see
 * partner-entries.test.ts.
 */
const commands = allCommands.filter(
  ({ needs, name }) => needs === 'database' && !/^(webhook|delivery|event) |^provider test$/.test(name),
)

const reading =
  /^(\w+ (list|show|secrets|keys|messages|members|invitations)|keys generate|audit verify|audit key|migrate)$/

/** Runs a command of the command line in this process; answers what it printed. */
async function runHere(name: string, ...args: string[]): Promise<Record<string, unknown>> {
  const command = commands.find((each) => each.name === name)!
  const { config, vault, clock } = house.gateway.context
  let printed = {}
  const silent = () => {}
  const print = {
    record(fields: Record<string, unknown>) {
      printed = fields
    },
    table: silent,
    pages: async () => {},
    say: silent,
    json: silent,
    text: silent,
    progress: silent,
  }
  const act = () => ({ by: { name: 'operator:olga' }, at: clock.now() })
  await command.run({ config, clock, db, vault, act, print }, parseWords(command, args))
  return printed
}

test('every command of an operator that changes something is recorded, and those that only read are not', async () => {
  const user = await house.makeUser()
  const client = await house.makeClient()
  const partner = String(client.branchId)
  const browser = await house.signIn(user)
  await house.approve(client, browser)
  const [authorization] = await ask<{ id: number }>(db, 'SELECT id FROM authorizations WHERE user_id = $1', [
    user.id,
  ])
  const asking = async () => {
    const narrow = await house.makeClient({ scope: 'read' })
    await askForScopes(db, narrow, { wider: 'trade', reason: 'orders' }, gatewayAct(house.clock.now()))
    return narrow.id
  }
  const [granted, declined] = [await asking(), await asking()]
  const saved = await draftUpstream(house)
  await applyAsPartner(db, 'Late', gatewayAct(house.clock.now()))
  const [{ databaseRole }] = (await ask<{ databaseRole: string }>(
    db,
    'SELECT session_user::text AS "databaseRole"',
  )) as [{ databaseRole: string }]
  const alerts = await queueAddress(house, theBrokerage, false)
  const made: Record<string, Record<string, unknown>> = {}
  const [customers, nobody] = ['customers.ndjson', 'nobody.ndjson'].map((name) =>
    join(makeFolder(), name),
  ) as [string, string]
  writeFileSync(customers, JSON.stringify({ kind: 'customer', externalId: 'C-1', name: 'Ada', version: 1 }))
  writeFileSync(nobody, '')
  const acts: [name: string, args: () => string[], actions: AuditAction[] | 'anything'][] = [
    ['user create', () => ['--username', 'otto', '--name', 'Otto'], ['user.created']],
    [
      'user create',
      () => ['--username', 'sven', '--name', 'Sven', '--operator', '--role', 'viewer'],
      ['user.created', 'user.role_given'],
    ],
    ['staff give', () => ['sven', '--role', 'support'], ['user.role_given']],
    ['staff take', () => ['sven', '--role', 'support'], ['user.role_taken']],
    ['user password', () => ['otto'], ['user.password_changed']],
    ['user account', () => ['otto', '--number', '6YA70001'], ['user.account_added']],
    ['user hold', () => ['otto', '--number', '6YA70001', '--role', 'joint'], ['user.holding_set']],
    ['source create', () => ['crm'], ['source.created']],
    ['source update', () => ['crm', '--role', databaseRole], ['source.role_allowed']],
    ['source update', () => ['crm', '--no-role', databaseRole], ['source.role_withdrawn']],
    ['user link', () => ['otto', '--external-id', 'C-otto', '--source', 'crm'], ['provisioning.linked']],
    [
      'user link-account',
      () => ['6YA70001', '--external-id', 'A-otto', '--source', 'crm'],
      ['provisioning.linked'],
    ],
    ['user release', () => ['otto', '--number', '6YA70001'], ['user.holding_removed']],
    ['user disable', () => ['otto'], ['user.disabled']],
    ['user enable', () => ['otto'], ['user.enabled']],
    [
      'partner create',
      () => ['--name', 'Quant', '--approve', '--refresh'],
      ['partner.applied', 'partner.approved', 'partner.refresh_granted'],
    ],
    ['user set-email', () => ['otto', '--email', 'otto@example.com'], ['user.email_changed']],
    ['user reset-second-factor', () => ['otto'], ['second_factor.reset']],
    ['partner suspend', () => ['Quant', '--reason', 'late'], ['partner.suspended']],
    ['partner approve', () => ['Quant'], ['partner.approved']],
    ['partner decline', () => ['Late', '--reason', 'Say more.'], ['partner.declined']],
    ['partner write', () => ['Quant', '--text', 'Hello.'], ['partner.message_sent']],
    ['partner withdraw-refresh', () => ['Quant'], ['partner.refresh_withdrawn']],
    ['partner grant-refresh', () => ['Quant'], ['partner.refresh_granted']],
    ['partner add-member', () => ['Quant', 'otto', '--role', 'viewer'], ['partner.member_added']],
    ['partner set-role', () => ['Quant', 'otto', '--role', 'developer'], ['partner.role_changed']],
    ['partner remove-member', () => ['Quant', 'otto'], ['partner.member_removed']],
    [
      'partner invite',
      () => ['Quant', '--email', 'ina@example.com', '--role', 'viewer'],
      ['partner.member_invited'],
    ],
    [
      'partner uninvite',
      () => ['Quant', String(made['partner invite']!.id)],
      ['partner.invitation_withdrawn'],
    ],
    [
      'client create',
      () => ['--partner', partner, '--name', 'New', '--callback', 'https://a.example/cb', '--scope', 'read'],
      ['client.created', 'client.secret_issued'],
    ],
    ['client update', () => [client.id, '--name', 'Renamed'], ['client.updated']],
    [
      'client update',
      () => [client.id, '--certificate-subject', 'CN=new.example'],
      ['client.certificate_set'],
    ],
    ['client profile', () => [client.id, '--profile', 'standard'], ['client.profile_set']],
    ['client grant-scopes', () => [granted], ['client.scopes_granted']],
    ['client decline-scopes', () => [declined], ['client.scopes_declined']],
    ['client suspend', () => [client.id], ['client.suspended']],
    ['client activate', () => [client.id], ['client.activated']],
    ['client rotate-secret', () => [client.id], ['client.secret_issued']],
    ['client revoke-secret', () => [client.id, newestSecret], ['client.secret_revoked']],
    ['client add-key', () => [client.id, '--jwks', secretFile(printJwks(makeKey()))], ['client.key_added']],
    ['client read-keys', () => [client.id, '--jwks-uri', 'https://a.example/jwks'], ['client.keys_placed']],
    ['client read-keys', () => [client.id, '--jwks-uri', 'none'], ['client.keys_placed']],
    ['client remove-key', () => [client.id, newestKey], ['client.key_removed']],
    ['token create', () => ['--user', 'otto', '--name', 'report'], ['api_token.created']],
    [
      'token revoke-leaked',
      () => ['--token-file', secretFile(String(made['token create']!.token))],
      ['api_token.revoked'],
    ],
    ['token create', () => ['--user', 'otto', '--name', 'second'], ['api_token.created']],
    ['token revoke', () => [String(made['token create']!.id)], ['api_token.revoked']],
    [
      'authorization revoke',
      () => [String(authorization!.id), '--reason', 'asked'],
      ['authorization.revoked'],
    ],
    ['service create', () => ['--name', 'orders'], ['service.created']],
    [
      'service update',
      () => [String(made['service create']!.id), '--provision', 'core'],
      ['service.provisioning_set'],
    ],
    ['service revoke', () => [String(made['service create']!.id)], ['service.revoked']],
    ['import', () => [customers], ['import.started', 'provisioning.applied', 'import.finished']],
    ['import', () => [nobody, '--mode', 'snapshot', '--as-of', '9'], ['import.started']],
    ['import stop', () => [String(made.import!.id)], ['import.stopped']],
    ['import', () => [nobody, '--mode', 'snapshot', '--as-of', '9'], ['import.started']],
    [
      'import allow',
      () => [String(made.import!.id)],
      ['import.allowed', 'user.removed', 'provisioning.applied', 'import.finished'],
    ],
    [
      'provider add',
      () => [
        ...['bank', '--kind', 'holder', '--label', 'Bank ID', '--issuer', 'https://127.0.0.1:9'],
        ...['--client-id', 'countersign', '--secret-file', secretFile('of the provider')],
      ],
      ['provider.added'],
    ],
    [
      'provider credential',
      () => ['bank', '--secret-file', secretFile('a newer one of the provider')],
      ['provider.credential_replaced'],
    ],
    ['provider change', () => ['bank', '--label', 'Bank'], ['provider.changed']],
    ['provider enable', () => [saved.name], ['provider.added']],
    ['provider link', () => ['bank', 'subject-1', 'otto'], ['identity.linked']],
    ['provider unlink', () => ['bank', 'subject-1'], ['identity.unlinked']],
    ['provider remove', () => ['bank', '--yes'], ['provider.removed']],
    [
      'credential create',
      () => ['--for', 'sven', '--role', 'viewer', '--name', 'deployment'],
      ['credential.created'],
    ],
    ['credential revoke', () => [String(made['credential create']!.id)], ['credential.revoked']],
    ['alert add', () => ['--url', 'https://hooks.example.com/in'], ['alert.address_added']],
    ['alert send-code', () => [String(made['alert add']!.id)], ['alert.code_sent']],
    ['alert confirm', () => [alerts.target, '--code', alerts.code], ['alert.address_confirmed']],
    ['alert test', () => [alerts.target], ['alert.tested']],
    ['alert change', () => [alerts.target, '--wait', '10m'], ['alert.changed']],
    ['alert remove', () => [alerts.target], ['alert.address_removed']],
    ['keys rotate', () => [], ['keys.rotated']],
    ['keys prune', () => [], 'anything'],
  ]
  assert.deepEqual(
    commands
      .map((command) => command.name)
      .filter((name) => !reading.test(name))
      .sort(),
    [...new Set(acts.map(([name]) => name))].sort(),
    'every command that changes something is here',
  )
  let newestSecret = ''
  let newestKey = ''
  const unrecorded: string[] = []
  for (const [name, args, actions] of acts) {
    if (name === 'client revoke-secret') newestSecret = await findNewestSecret(client)
    if (name === 'client remove-key') newestKey = String((await listKeys(db, client.id))[0]!.id)
    const entries = await entriesOf(async () => {
      made[name] = await runHere(name, ...args())
    })
    if (entries.length === 0) unrecorded.push(name)
    else if (actions !== 'anything')
      assert.deepEqual(entries.map((entry) => entry.action).sort(), actions.toSorted(), name)
    for (const entry of entries) {
      // Once it is allowed, the gateway's own round helps to remove.
      const helped = name === 'import allow' && entry.action !== 'import.allowed' && entry.actor === 'gateway'
      if (!helped) assert.equal(entry.actor, 'operator:olga')
      assert.deepEqual(entry.at, house.clock.now())
    }
  }
  assert.deepEqual(unrecorded, [])

  const reads: Record<string, string[]> = {
    'user show': ['otto'],
    'import show': ['1'],
    'partner show': ['Quant'],
    'partner messages': ['Quant'],
    'partner members': ['Quant'],
    'partner invitations': ['Quant'],
    'token list': ['--user', 'otto'],
  }
  for (const { name } of commands.filter((command) => reading.test(command.name))) {
    const args = reads[name] ?? (/^client [sk]/.test(name) ? [client.id] : [])
    assert.deepEqual(await entriesOf(() => runHere(name, ...args)), [], name)
  }
})

async function findNewestSecret(client: TestClient): Promise<string> {
  const [row] = await ask<{ id: number }>(
    db,
    'SELECT max(id) AS id FROM client_secrets WHERE client_id = $1',
    [client.id],
  )
  return String(row!.id)
}

const countAll = `SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM grants) AS grants,
          (SELECT count(*) FROM grants WHERE exchanged_at IS NOT NULL) AS exchanged,
          (SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL) AS ended,
          (SELECT count(*) FROM access_tokens WHERE revoked_at IS NULL) AS access, (SELECT count(*)
            FROM refresh_tokens) AS refresh,
          (SELECT count(*) FROM authorizations WHERE revoked_at IS NULL) AS authorizations,
          (SELECT count(*) FROM answered_requests) AS answers, (SELECT count(*)
            FROM api_tokens) AS api_tokens`

test('an act whose entry cannot be written does not happen', async () => {
  const { user, client, code } = await connect()
  const second = await connect()
  const { access_token, refresh_token } = tokensOf(await house.exchange(second.client, second.code))
  const browser = await house.signIn(user)
  const consent = await askForConsent(browser, client.id)
  const page = await browser.get('/account/api')
  const account = await browser.get('/account')
  const stranger = new NewBrowser(house.baseUrl)
  const revoke = (token: string) =>
    postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(second.client))
  const acts: Record<string, () => Promise<Answer>> = {
    'sign-in': () => login(stranger, user.username),
    approval: () => browser.submit(consent, '/consent', { decision: 'approve' }),
    denial: () => browser.submit(consent, '/consent', { decision: 'deny' }),
    exchange: () => house.exchange(client, code),
    refresh: () => house.refresh(second.client, refresh_token),
    'revocation of an access token': () => revoke(access_token),
    'revocation of a refresh token': () => revoke(refresh_token),
    'revocation of an application': () => browser.submit(account, '/account/revoke', {}),
    'new API token': () => browser.submit(page, '/account/api/tokens', { name: 'n', environment: 'live' }),
    'sign-out': () => browser.submit(account, '/logout', {}),
  }
  house.clock.advance(minute)
  await db.script('ALTER TABLE audit_entries ADD CONSTRAINT full_disk CHECK (false) NOT VALID')
  try {
    for (const [what, act] of Object.entries(acts)) {
      const [before] = await ask(db, countAll)
      assert.equal((await act()).status, 500, what)
      assert.deepEqual(await ask(db, countAll), [before], what)
    }
  } finally {
    await db.script('ALTER TABLE audit_entries DROP CONSTRAINT full_disk')
  }
  assert.equal((await acts.exchange!()).status, 200, 'and afterwards it can be done')
})
