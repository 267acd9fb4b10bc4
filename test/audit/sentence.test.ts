/** Every entry is a sentence: who did what to whom. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AuditAction } from '../../src/audit/action.ts'
import { referencesOf, tell } from '../../src/audit/sentence.ts'

const actors = { actor: 'user:id-olga', subject: 'user:id-alice', details: {} }

/** With short names in place of ids. */
function read(action: string, more: Partial<Parameters<typeof tell>[0]> = {}): string {
  const names: Record<string, string> = {
    'user:id-olga': 'Olga',
    'user:id-alice': 'Alice',
    'branch:7': 'Quant',
  }
  return tell({ ...actors, action: action as AuditAction, ...more })
    .map((part) => (typeof part === 'string' ? part : (names[part.id] ?? part.id)))
    .join('')
}

test('an act reads as a person would tell it', () => {
  assert.equal(read('user.disabled'), 'Olga locked Alice')
  assert.equal(read('second_factor.reset'), 'Olga reset two-factor sign-in of Alice')
  assert.equal(read('user.password_changed'), 'Olga set a new password for Alice')
  assert.equal(read('user.password_changed', { subject: 'user:id-olga' }), 'Olga changed their password')
  const added = { subject: 'branch:7', details: { userId: 'id-alice' } }
  assert.equal(read('partner.member_added', added), 'Olga made Alice a member of Quant')
  assert.equal(
    read('partner.member_added', { ...added, actor: 'user:id-alice' }),
    'Alice became a member of Quant',
  )
  const invited = { subject: 'branch:7', details: { to: 'a…@example.com', role: 'owner' } }
  assert.equal(read('partner.member_invited', invited), 'Olga invited a…@example.com to Quant as an owner')
  assert.equal(
    read('partner.invitation_resent', invited),
    'Olga sent the invitation of a…@example.com to Quant again',
  )
  const role = { subject: 'branch:7', details: { userId: 'id-alice', from: 'viewer', role: 'owner' } }
  assert.equal(
    read('partner.role_changed', role),
    'Olga changed the role of Alice at Quant from viewer to owner',
  )
  assert.equal(
    read('partner.role_changed', { ...role, actor: 'user:id-alice' }),
    'Alice changed their own role at Quant from viewer to owner',
  )
  const replayed = { subject: 'webhook:42', details: { total: 1_200 } }
  assert.equal(read('webhook.replayed', replayed), 'Olga replayed 1,200 deliveries of webhook:42')
  assert.equal(
    read('webhook.replayed', { ...replayed, details: { total: 1 } }),
    'Olga replayed 1 delivery of webhook:42',
  )
})

test('an entry that lacks what its sentence wants, or of a release of tomorrow, is told all the same', () => {
  assert.equal(read('partner.suspended', { subject: 'branch:7' }), 'Olga suspended partner Quant: –')
  assert.equal(
    read('partner.suspended', { subject: 'branch:7', details: { reason: { a: 1 } } }),
    'Olga suspended partner Quant: –',
  )
  assert.equal(read('moon.landed'), 'Olga: moon.landed Alice')
  assert.equal(read('constructor'), 'Olga: constructor Alice')
})

test('every action that is recorded has a sentence, also those that statements write themselves', () => {
  const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  const texts = sources.map((file) => readFileSync(file, 'utf8'))
  const recorded = texts.flatMap((text) => [
    ...[...text.matchAll(/record(?:Guarded)?Act\([^'`]*?['`]([a-z_]+\.[a-z_]+)['`]/g)].map(
      (match) => match[1]!,
    ),
    // An INSERT of their own: who, then what, to whom.
    ...[...text.matchAll(/INSERT INTO audit_entries[^;]*?'([a-z_]+\.[a-z_]+)'/g)].map((match) => match[1]!),
  ])
  assert.ok(new Set(recorded).size > 50, `${new Set(recorded).size} actions`)
  for (const wanted of ['code.exchanged', 'token.refreshed', 'token.rotated'])
    assert.ok(recorded.includes(wanted), wanted)
  for (const action of recorded) assert.doesNotMatch(read(action), new RegExp(`: ${action} `), action)
})

test('whoever a sentence names is asked for once', () => {
  const entry = { ...actors, action: 'user.disabled' } as const
  assert.deepEqual(referencesOf([entry, entry]), ['user:id-olga', 'user:id-alice'])
})
