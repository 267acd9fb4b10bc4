/**
 * The console over the same house, with a million users and five million entries of the audit log: whole
 * pages, as an operator asks for them.
 */

import type { Database } from '../src/database/database.ts'
import { openPasswords } from '../src/users/password.ts'
import { createUser } from '../src/users/user.ts'
import { ask } from '../test/support/ask.ts'
import { signIn } from '../test/support/process.ts'
import { measurePages } from './pages.ts'
import type { Result } from './report.ts'

const users = 1_000_000
const partners = 1_000
const entriesOfUser = 5
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })
const olga = {
  username: 'olga',
  name: 'Olga Operator',
  password: 'correct horse battery',
  role: 'operator',
  staffRoles: ['administrator'],
} as const

export interface FilledHouse {
  readonly db: Database
  readonly origin: string
  readonly branchId: number
  readonly webhookId: number
}

export async function measureConsole(
  { db, origin, branchId, webhookId }: FilledHouse,
  rows = users,
): Promise<Result[]> {
  await createUser(db, openPasswords(1), olga, act())
  await fillPeople(db, rows)
  const [middle] = await ask<{ id: number }>(db, selectMiddle)
  const someone = idOf(Math.ceil(rows / 2))
  const operator = await signIn(origin, olga)
  return measurePages('console', operator, {
    overview: '/console',
    'overview with its charts of 30 days': '/console?period=30days',
    users: '/console/users',
    'a username': '/console/users?q=holder-7',
    'a name that many have': '/console/users?q=Smith',
    'a name that nobody has': '/console/users?q=Nemo',
    'search by a name that many have': '/console/search?q=Smith',
    'search by an entity': '/console/search?q=transaction:77',
    'search by an address': '/console/search?q=app.example.com',
    'search by an e-mail address': '/console/search?q=holder-500000@example.com',
    'search by a request id': '/console/search?q=r-500000',
    'search by a request id that never was': '/console/search?q=r-nothing',
    'a person': `/console/users/${someone}`,
    partners: '/console/partners',
    'a partner': `/console/partners/${branchId}`,
    webhooks: '/console/webhooks',
    'a webhook with its charts of 30 days': `/console/webhooks/${webhookId}?period=30days`,
    'an incident': `/console/webhooks/${webhookId}/incident`,
    'audit log': '/console/audit',
    'audit log from the middle': `/console/audit?before=${middle!.id}`,
    'audit log of a person': `/console/audit?subject=user%3A${someone}`,
    'what a person did': `/console/audit?actor=user%3A${someone}`,
    'an action that is rare': '/console/audit?action=user.disabled',
    'an action that never was': '/console/audit?action=webhook.skipped',
    'an act in words, by a name': '/console/audit?action=locked&actor=holder-500000',
    'an address that never was': '/console/audit?address=192.0.2.77',
    'an hour of the log': '/console/audit?from=2026-01-01T00%3A00&to=2026-01-01T01%3A00',
  })
}

/** Twelve characters, as ids have. */
const printId = "'id-' || lpad(n::text, 12, '0')"
const idOf = (n: number) => `id-${String(n).padStart(12, '0')}`

const selectMiddle = 'SELECT max(id) / 2 AS id FROM audit_entries'

/**
 * A user has applied, signed in, approved, and was looked at; one in a thousand was locked. As sealed years
 * ago: what is not, is noted by a trigger.
 */
async function fillPeople(db: Database, rows: number): Promise<void> {
  const names =
    "(ARRAY['Alice', 'Bob', 'Carol', 'Dan', 'Erin'])[1 + n % 5] || ' ' || (ARRAY['Smith', 'Jones', 'Brown', 'Moore'])[1 + n % 4]"
  await db.script(`
    INSERT INTO users (id, username, name, email, password_hash, role, created_at, updated_at)
    SELECT ${printId}, 'holder-' || n, ${names} || ' ' || n, 'holder-' || n || '@example.com', password_hash, 'holder',
      now(), now()
    FROM (SELECT password_hash FROM users LIMIT 1) one, generate_series(1, ${rows}) AS n;
    INSERT INTO partners (name, status, created_at, updated_at)
    SELECT 'Partner ' || n, 'approved', now(), now() FROM generate_series(1, ${partners}) AS n;
    BEGIN;
    SET LOCAL session_replication_role = replica;
    INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
    SELECT timestamptz '2026-01-01' + interval '5 s' * n, CASE WHEN m = 4
      THEN 'operator:bench' ELSE 'user:' || ${printId} END,
      CASE WHEN m = 4 AND n % 1000 = 0
        THEN 'user.disabled' ELSE (ARRAY['session.opened', 'authorization.granted', 'token.created',
        'session.closed', 'user.created'])[1 + m] END,
      'user:' || ${printId}, 'live', '10.' || n % 200 || '.' || n % 250 || '.7', 'r-' || n, '{}'
    FROM generate_series(1, ${rows}) AS n, generate_series(0, ${entriesOfUser - 1}) AS m;
    COMMIT`)
  await db.script('VACUUM ANALYZE')
}
