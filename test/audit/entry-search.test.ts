/** Searching the audit log: what is asked for and nothing else, in windows that never read it whole. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditEntry, recordAct } from '../../src/audit/audit.ts'
import { entryColumns } from '../../src/audit/entries.sql.ts'
import { type EntryQuestion, searchEntries, walkEntries } from '../../src/audit/entry-search.ts'
import { findActions } from '../../src/audit/sentence.ts'
import { hour, after as later, minute } from '../../src/clock.ts'
import { ask } from '../support/ask.ts'

import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'

const start = new Date('2026-03-02T10:00:00Z')

const database = await keepOpen(openTestDatabase())
const db = await keepOpen(openLenientDatabase({ connectionString: database.url, connections: 2 }))
// 3,000 renewals, a minute apart; every thousandth minute somebody pauses a webhook.
await db.script(`
  INSERT INTO audit_entries (at, actor, action, subject, environment, address, details)
  SELECT '2026-03-02T10:00:00Z'::timestamptz + n * interval '1 min',
    CASE WHEN n % 1000 = 0 THEN 'user:ada' ELSE 'client:' || n % 3 END,
    CASE WHEN n % 1000 = 0 THEN 'webhook.paused' ELSE 'token.refreshed' END,
    CASE WHEN n % 1000 = 0 THEN 'webhook:' || n / 1000 ELSE 'user:' || n % 7 END,
    CASE n % 3 WHEN 0 THEN 'live' WHEN 1 THEN 'sandbox' END, '192.0.2.' || n % 5, '{}'
  FROM generate_series(1, 3000) AS n ORDER BY n`)
const act = { by: { name: "x' OR '1'='1" }, at: later(start, 4_000 * minute) }
await recordAct(db, act, 'client.updated', '%', { q: '"' })

const newest = async (question: EntryQuestion, most = 5_000) =>
  (await searchEntries(db, question, undefined, { most, budgetMs: 60_000 })).entries

const selectAll = `SELECT ${entryColumns} FROM audit_entries ORDER BY id DESC`

/** Each question, and the same in plain words. */
const questions: Record<string, [EntryQuestion, (entry: AuditEntry) => boolean]> = {
  everything: [{}, () => true],
  'an actor': [{ actor: 'client:1' }, ({ actor }) => actor === 'client:1'],
  'a subject': [{ subject: 'user:4' }, ({ subject }) => subject === 'user:4'],
  'an actor and a subject': [
    { actor: 'client:1', subject: 'user:4' },
    ({ actor, subject }) => actor === 'client:1' && subject === 'user:4',
  ],
  'a whole action': [{ actions: findActions('webhook.paused') }, ({ action }) => action === 'webhook.paused'],
  'the first half of an action': [
    { actions: findActions('webhook') },
    ({ action }) => action.startsWith('webhook.'),
  ],
  'less than the first half': [{ actions: findActions('web') }, () => false],
  'an action with a wildcard': [{ actions: findActions('%') }, () => false],
  'an action with a wildcard for a letter': [{ actions: findActions('webhook_paused') }, () => false],
  'an actor with quotes': [{ actor: "x' OR '1'='1" }, ({ actor }) => actor.startsWith('x')],
  'a subject that is a wildcard': [{ subject: '%' }, ({ subject }) => subject === '%'],
  'an environment': [{ environment: 'sandbox' }, ({ environment }) => environment === 'sandbox'],
  'no environment': [{ environment: 'none' }, ({ environment }) => environment === null],
  'an address': [{ address: '192.0.2.3' }, ({ address }) => address === '192.0.2.3'],
  'a range of time': [
    { from: later(start, hour), to: later(start, 2 * hour) },
    ({ at }) => at >= later(start, hour) && at < later(start, 2 * hour),
  ],
  'a time before everything': [{ to: start }, () => false],
  'a time after everything': [{ from: later(start, 5_000 * minute) }, () => false],
  'an action of an actor in a time': [
    { actor: 'user:ada', actions: findActions('webhook'), from: later(start, 1_500 * minute) },
    ({ actor, at }) => actor === 'user:ada' && at >= later(start, 1_500 * minute),
  ],
}

for (const [name, [question, isMeant]] of Object.entries(questions)) {
  test(`${name}: what is found is what is meant, newest first, in any windows`, async () => {
    const all = await ask<AuditEntry>(db, selectAll)
    const meant = all.filter(isMeant).map(({ id }) => id)
    assert.deepEqual(
      (await newest(question)).map(({ id }) => id),
      meant,
    )
    const walked: number[] = []
    for await (const page of walkEntries(db, question, new AbortController().signal))
      walked.push(...page.map(({ id }) => id))
    assert.deepEqual(walked, meant, 'an export')
    // Without any time a search stops after its first window and says how far it came.
    const pieces: number[] = []
    let next: number | undefined
    do {
      const found = await searchEntries(db, question, next, { most: 40, windowEntries: 170, budgetMs: 0 })
      assert.ok(found.entries.length <= 40)
      assert.ok(found.next === undefined || next === undefined || found.next < next, 'it goes on downwards')
      pieces.push(...found.entries.map(({ id }) => id))
      next = found.next
    } while (next !== undefined)
    assert.deepEqual(pieces, meant, 'page by page')
  })
}

test('an entry has its details, and nothing of how it was searched', async () => {
  const [entry] = await newest({ subject: '%' })
  assert.deepEqual(Object.keys(entry!).sort(), [
    'action',
    'actor',
    'address',
    'at',
    'details',
    'environment',
    'id',
    'requestId',
    'subject',
  ])
  assert.deepEqual(entry!.details, { q: '"' })
})

test('a page from before any number, or after every one, is empty or whole', async () => {
  assert.deepEqual((await searchEntries(db, {}, 1, { most: 5 })).entries, [])
  assert.equal((await searchEntries(db, {}, 999_999_999_999_999, { most: 5 })).entries.length, 5)
})
