/**
 * The everyday life of identity providers on the command line: one that was saved is enabled, and one whose
 * secret runs out gets another.
 */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { openVaultOf } from '../../src/crypto/vault.ts'
import { draftProvider, findProvider, getProvider, readCredential } from '../../src/identity/provider.ts'
import type { ProviderDraft } from '../../src/identity/provider-draft.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { newFolder } from '../support/folder.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { openCommandLineAt } from './command-line.ts'

const database = await keepOpen(openTestDatabase())
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32), AUDIT_ANCHOR_FILE: 'off' }
const line = await keepOpen(openCommandLineAt(settings))
const two = await keepOpen(openCommandLineAt({ ...settings, FOUR_EYES: 'provider.add' }))
const { db } = line
const vault = await openVaultOf(readConfig(settings).keySource)
const act = () => ({ by: { name: 'operator:test' }, at: new Date() })
const folder = newFolder('provider-commands')

function fileOf(text: string): string {
  const path = join(folder, makeUpWord())
  writeFileSync(path, `${text}\n`)
  return path
}

/** As the console saves one. */
async function save(): Promise<string> {
  const name = makeUpWord()
  const draft: ProviderDraft = {
    ...{
      name,
      kind: 'holder',
      label: 'Bank ID',
      issuer: `https://127.0.0.1:9/${name}`,
      clientId: 'countersign',
    },
    ...{ proof: 'client_secret_post', credential: 'the first one', scopes: ['openid'], linkClaim: null },
    ...{ linkSource: 'core', strongAcr: [], strongAmr: [], ownSecondStep: true, rolesClaim: null },
    ...{ roleMap: {}, logoutEnds: 'session' },
  }
  await draftProvider(db, vault, draft, { allowLoopback: false }, act())
  return name
}

const latest = async (action: Parameters<typeof findEntries>[1]['action']) =>
  (await findEntries(db, { action: action!, limit: 1 }))[0]

test('a provider that the console saved is enabled by a command, once', async () => {
  const name = await save()
  assert.equal(await findProvider(db, name), undefined)
  const done = await line.run('provider', 'enable', name)
  assert.equal(done.code, 0, done.stderr)
  assert.doesNotMatch(done.stdout, /Nothing was changed|two people/)
  const { enabledAt } = (await findProvider(db, name))!
  assert.equal((await latest('provider.added'))!.subject, `provider:${name}`)
  const again = await line.run('provider', 'enable', name)
  assert.equal(again.code, 0)
  assert.match(again.stdout, /^Nothing was changed: it is enabled already\.\n/)
  assert.deepEqual((await getProvider(db, name)).enabledAt, enabledAt)
  assert.match(
    (await line.fail('provider', 'enable', 'nobody')).stderr,
    /There is no identity provider "nobody"/,
  )
})

test('where enabling takes two people the command does it alone, and is heard; of what is enabled already nobody hears', async () => {
  const name = await save()
  const bypassed = async () => (await findEntries(db, { action: 'proposal.bypassed' })).length
  const before = await bypassed()
  assert.match((await two.run('provider', 'enable', name)).stdout, /In the console this takes two people/)
  assert.ok(await findProvider(db, name))
  assert.equal(await bypassed(), before + 1)
  assert.deepEqual((await latest('proposal.bypassed'))!.details, { kind: 'provider.add' })
  assert.doesNotMatch((await two.run('provider', 'enable', name)).stdout, /two people/)
  assert.equal(await bypassed(), before + 1)
})

test('a new secret, or a key, replaces what a provider is asked with, and is printed nowhere', async () => {
  const name = await save()
  await line.run('provider', 'enable', name)
  const { enabledAt } = await getProvider(db, name)
  const credential = async () => readCredential(db, vault, await getProvider(db, name))
  const basic = await two.run('provider', 'credential', name, '--secret-file', fileOf('hunter2'))
  assert.equal(basic.code, 0, basic.stderr)
  assert.deepEqual(await credential(), { proof: 'client_secret_basic', credential: 'hunter2' })
  assert.match(basic.stdout, /Until now it was client_secret_post\./)
  assert.match(basic.stdout, new RegExp(`countersign provider test ${name}`))
  assert.doesNotMatch(basic.stdout, /hunter2|two people/)
  const words = ['--secret-file', fileOf('hunter3'), '--secret-in-body']
  const posted = await line.read('provider', 'credential', name, ...words)
  assert.deepEqual(await credential(), { proof: 'client_secret_post', credential: 'hunter3' })
  const { credentialAt } = await getProvider(db, name)
  assert.deepEqual(posted, { name, proof: 'client_secret_post', credential_at: credentialAt.toISOString() })
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
  assert.equal((await line.run('provider', 'credential', name, '--key-file', fileOf(pem))).code, 0)
  assert.deepEqual(await credential(), { proof: 'private_key_jwt', credential: pem })
  assert.deepEqual((await latest('provider.credential_replaced'))!.details, { proof: 'private_key_jwt' })
  assert.deepEqual((await getProvider(db, name)).enabledAt, enabledAt)
})

test('a credential that is none is refused by the words of the command, and changes nothing', async () => {
  const name = await save()
  const entries = async () => (await findEntries(db, { action: 'provider.credential_replaced' })).length
  const before = [await getProvider(db, name), await entries()]
  const fail = (...words: string[]) => line.fail('provider', 'credential', name, ...words)
  const either = { code: 2, stderr: 'Say either --secret-file or --key-file.\n' }
  assert.deepEqual(await fail(), either)
  assert.deepEqual(await fail('--secret-file', fileOf('one'), '--key-file', fileOf('two')), either)
  assert.match(
    (await fail('--key-file', fileOf('no key'))).stderr,
    /^--key-file must be a private key in PEM/,
  )
  assert.match((await fail('--secret-file', fileOf(''))).stderr, /holds no secret/)
  const both = await fail('--key-file', fileOf('a key'), '--secret-in-body')
  assert.equal(both.code, 2)
  assert.match(both.stderr, /^--secret-in-body is for a secret, .*: leave it out with --key-file\.\n$/)
  assert.deepEqual([await getProvider(db, name), await entries()], before)
})

test('what is wrong with a new provider is told by the options of the command', async () => {
  const { stderr } = await line.fail(
    ...[
      'provider',
      'add',
      'Bank',
      '--kind',
      'holder',
      '--label',
      'Bank ID',
      '--issuer',
      'http://login.example.com',
    ],
    ...['--client-id', 'countersign', '--secret-file', fileOf('secret'), '--no-own-second-step'],
  )
  assert.match(
    stderr,
    /^NAME must be 1 to 40 small letters, .*; --issuer must begin with https:\/\/; --strong-acr is/,
  )
  assert.match(
    stderr,
    /Name what means one by --strong-acr or --strong-amr, or leave out --no-own-second-step\.\n$/,
  )
})

test('what a provider hands out is printed as it was said, and a list is said as a whole: an empty word takes it away', async () => {
  const name = makeUpWord()
  await line.run(
    ...[
      'provider',
      'add',
      name,
      '--kind',
      'staff',
      '--label',
      'Staff',
      '--issuer',
      `https://sso.example.com/${name}`,
    ],
    ...['--client-id', 'countersign', '--secret-file', fileOf('secret'), '--roles-claim', 'groups'],
    ...['--role', 'admins=administrator', '--role', 'help=support'],
  )
  const printed = async () =>
    (await line.read<Record<string, unknown>[]>('provider', 'list')).find((each) => each.name === name)!
  const handedOut = async () => [(await printed()).roles_claim, (await printed()).roles]
  assert.deepEqual(await handedOut(), ['groups', 'admins=administrator, help=support'])
  assert.deepEqual([(await printed()).logout_ends, (await printed()).link_source], ['session', null])
  assert.match(
    (await line.run('provider', 'change', name, '--role', 'help=support')).stdout,
    /^roles +help=support$/m,
  )
  const emptied = await line.run('provider', 'change', name, '--role', '')
  assert.equal(emptied.code, 0, emptied.stderr)
  assert.deepEqual(await handedOut(), ['groups', ''])
  const holders = await save()
  const { stderr } = await line.fail('provider', 'change', holders, '--role', 'help=support')
  assert.equal(stderr, '--role is for staff.\n')
})

test('whoever is linked to another subject is unlinked from it first, by the command that is told', async () => {
  const name = await save()
  const username = makeUpWord()
  await line.run('user', 'create', '--username', username, '--name', 'Ada')
  await line.run('provider', 'link', name, 'auth0|5f7', username)
  const { stderr } = await line.fail('provider', 'link', name, 'another', username)
  const unlink = `countersign provider unlink ${name} 'auth0|5f7'`
  assert.equal(
    stderr,
    `${username} is linked to another subject of Bank ID: auth0|5f7. Unlink that one first.\n${unlink}\n`,
  )
})

test('removing a provider says whom it touches, and is done when asked for; whoever was linked is known when it is added again', async () => {
  const name = await save()
  const provider = await getProvider(db, name)
  const [alone, other] = [makeUpWord(), makeUpWord()]
  for (const [username, subject] of Object.entries({ [alone]: 'sub-1', [other]: 'sub-2' })) {
    await line.run(
      'user',
      'create',
      '--username',
      username,
      '--name',
      'Ada',
      '--password-file',
      fileOf('correct horse battery'),
    )
    await line.run('provider', 'link', name, subject, username)
  }
  await ask(db, 'UPDATE users SET password_hash = NULL WHERE username = $1', [alone])
  const asked = await line.fail('provider', 'remove', name)
  assert.equal(asked.code, 1)
  assert.match(asked.stderr, /2 customers are linked to it\. 1 of them has no other way in: no password here/)
  assert.match(
    asked.stderr,
    new RegExp(`Nothing was removed\\. To remove it: countersign provider remove ${name} --yes`),
  )
  assert.ok(await getProvider(db, name))
  const removed = await line.read('provider', 'remove', name, '--yes')
  assert.deepEqual(removed, { name, linked: 2, no_other_way_in: 1, removed: true })
  await assert.rejects(getProvider(db, name), /There is no identity provider/)
  await line.read(
    ...['provider', 'add', name, '--kind', 'holder', '--label', 'Bank ID', '--issuer', provider.issuer],
    ...['--client-id', 'countersign', '--secret-file', fileOf('secret'), '--logout-ends', 'person'],
  )
  assert.equal((await getProvider(db, name)).logoutEnds, 'person')
  assert.equal((await line.run('provider', 'link', name, 'sub-1', alone)).code, 0, 'they are linked already')
  assert.match(
    (await line.fail('provider', 'link', name, 'sub-1', other)).stderr,
    /linked to another subject/,
  )
})

test('a provider is changed by what is said, and keeps the rest: its people, its credential, and what is not named', async () => {
  const name = await save()
  const username = makeUpWord()
  await line.run('user', 'create', '--username', username, '--name', 'Ada')
  await line.run('provider', 'link', name, 'sub-1', username)
  await line.run('provider', 'enable', name)
  const before = await getProvider(db, name)
  const links = () => ask(db, 'SELECT issuer, subject FROM identities WHERE issuer LIKE $1', [`%${name}`])
  const linked = await links()
  const words = ['--label', 'New name', '--client-id', 'other', '--scope', 'email', '--strong-amr', 'mfa']
  const done = await line.run(
    'provider',
    'change',
    name,
    ...words,
    '--link-claim',
    'customer_id',
    '--logout-ends',
    'person',
  )
  assert.equal(done.code, 0, done.stderr)
  const after = await getProvider(db, name)
  assert.deepEqual(after, {
    ...{ ...before, label: 'New name', clientId: 'other', scopes: ['openid', 'email'] },
    ...{ strongAmr: ['mfa'], linkClaim: 'customer_id', logoutEnds: 'person' },
  })
  assert.deepEqual(await links(), linked)
  const entry = (await latest('provider.changed'))!
  assert.deepEqual(
    [entry.subject, entry.details.linkClaim, (entry.details.changed as string[]).sort()],
    [
      `provider:${name}`,
      'customer_id',
      ['clientId', 'label', 'linkClaim', 'logoutEnds', 'scopes', 'strongAmr'],
    ],
  )
  assert.match(
    (await line.run('provider', 'change', name, '--label', 'New name')).stdout,
    /^Nothing was changed/,
  )
  await line.run('provider', 'change', name, '--link-claim', '', '--strong-amr', '')
  const taken = await getProvider(db, name)
  assert.deepEqual([taken.linkClaim, taken.strongAmr], [null, []])
  const fail = async (...more: string[]) => (await line.fail('provider', 'change', name, ...more)).stderr
  assert.match(await fail('--link-claim', 'email'), /^--link-claim must not be an e-mail address/)
  assert.match(await fail('--roles-claim', 'groups'), /^--roles-claim is for staff/)
  assert.match(await fail('--no-own-second-step'), /^--strong-acr is missing/)
  assert.match(
    (await two.run('provider', 'change', name, '--label', 'Third')).stdout,
    /In the console this takes two people/,
  )
})

test('the same provider at another address takes its people with it, and its credential can still be opened', async () => {
  const name = await save()
  const username = makeUpWord()
  await line.run('user', 'create', '--username', username, '--name', 'Ada')
  await line.run('provider', 'link', name, 'sub-1', username)
  const issuer = `https://login.example.com/${name}`
  assert.match(
    (await line.fail('provider', 'change', name, '--issuer', issuer, '--label', 'x')).stderr,
    /by itself/,
  )
  const done = await line.run('provider', 'change', name, '--issuer', issuer)
  assert.equal(done.code, 0, done.stderr)
  const moved = await getProvider(db, name)
  assert.equal(moved.issuer, issuer)
  assert.equal((await readCredential(db, vault, moved)).credential, 'the first one')
  assert.match(
    (await line.fail('provider', 'link', name, 'sub-2', username)).stderr,
    /linked to another subject .*sub-1/,
  )
  const other = await save()
  assert.match(
    (await line.fail('provider', 'change', other, '--issuer', issuer)).stderr,
    /linked to .* already|is a provider already/,
  )
})
