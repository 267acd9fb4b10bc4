/** The people of a benchmark: one client of one partner, and a thousand account holders who approved it. */

import { randomUUID } from 'node:crypto'
import { day, minute } from '../src/clock.ts'
import { issueToken, type Token, type TokenKind } from '../src/crypto/token.ts'
import type { Vault } from '../src/crypto/vault.ts'
import type { Database } from '../src/database/database.ts'
import { type Client, createClient } from '../src/partners/client.ts'
import { applyAsPartner, getPartner, setPartnerStatus, setRefreshAccess } from '../src/partners/partner.ts'
import { openPasswords } from '../src/users/password.ts'
import { createUser } from '../src/users/user.ts'
import { ask } from '../test/support/ask.ts'
import type { Credentials } from './requests.ts'

export const holders = 1_000
export const callbackUrl = 'https://app.example.com/callback'
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })

export interface Brokerage {
  readonly client: Credentials
  makeCodes(count: number): Promise<string[]>
  /** A grant of its own for each, exchanged already. */
  makeAccessTokens(count: number, binding?: string): Promise<string[]>
  makeRefreshTokens(count: number): Promise<string[]>
}

/** Account holders share one password hash: each costs a row, not a computation of argon2id. */
const copyHolders = `WITH copies AS (
     INSERT INTO users (id, username, name, password_hash, role, created_at, updated_at)
     SELECT 'id-' || lpad(n::text, 12, '0'), 'holder-' || n, name, password_hash, role, created_at, updated_at
     FROM users, generate_series(1, $2::int) AS n WHERE id = $1 RETURNING id, created_at),
   theirs AS (
     INSERT INTO accounts (account_number, environment, classification, date_created, type, last_update_date)
     SELECT 'B' || substr(id, 8), 'live', 'individual', created_at, 'margin', created_at FROM copies),
   held AS (
     INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
     SELECT id, 'B' || substr(id, 8), 'owner', '{read,write,market,trade,stream}', created_at, created_at
     FROM copies)
   INSERT INTO authorizations (user_id, client_id, scopes, account_numbers, approved_at, consented_at)
   SELECT id, $3, ARRAY['read', 'trade'], ARRAY['B' || substr(id, 8)], created_at, created_at FROM copies`

const insertGrants = `INSERT INTO grants (authorization_id, client_id, user_id, scopes, account_numbers, callback_url, code_hash,
                       code_expires_at, approved_at, exchanged_at)
   SELECT a.id, a.client_id, a.user_id, a.scopes, a.account_numbers, $2, code.hash, $3, $4, $5
   FROM unnest($1::bytea[]) WITH ORDINALITY AS code (hash, n)
   JOIN authorizations a ON a.user_id = 'id-' || lpad((1 + n % $6::int)::text, 12, '0') RETURNING id`

const insertAccessTokens = `INSERT INTO access_tokens (hash, grant_id, scopes, issued_at, expires_at, binding)
   SELECT hash, grant_id, ARRAY['read', 'trade'], $3, $4, $5
     FROM unnest($1::bytea[], $2::bigint[]) AS token (hash, grant_id)`

const insertRefreshTokens = `INSERT INTO refresh_tokens (hash, grant_id, issued_at)
   SELECT hash, grant_id, $3 FROM unnest($1::bytea[], $2::bigint[]) AS token (hash, grant_id)`

export async function fillBrokerage(db: Database, vault: Vault): Promise<Brokerage> {
  const { client, secret } = await makeClient(db, vault)
  await makeHolders(db, client)
  return {
    client: { id: client.id, secret: secret.text },
    async makeCodes(count) {
      const codes = issueMany('code', count)
      await makeGrants(db, codes, undefined)
      return textsOf(codes)
    },
    async makeAccessTokens(count, binding) {
      const tokens = issueMany('access', count)
      const now = new Date()
      const grantIds = await makeGrants(db, issueMany('code', count), now)
      const expiresAt = new Date(now.getTime() + day)
      await ask(db, insertAccessTokens, [hashesOf(tokens), grantIds, now, expiresAt, binding ?? null])
      await db.script('ANALYZE')
      return textsOf(tokens)
    },
    async makeRefreshTokens(count) {
      const tokens = issueMany('refresh', count)
      const now = new Date()
      const grantIds = await makeGrants(db, issueMany('code', count), now)
      await ask(db, insertRefreshTokens, [hashesOf(tokens), grantIds, now])
      await db.script('ANALYZE')
      return textsOf(tokens)
    },
  }
}

/** Of an approved partner of its own. */
export async function makeClient(db: Database, vault: Vault): Promise<{ client: Client; secret: Token }> {
  const { branchId } = await applyAsPartner(db, `Bench Partner ${randomUUID()}`, act())
  const partner = await getPartner(db, String(branchId))
  await setPartnerStatus(db, partner, 'approved', undefined, act())
  await setRefreshAccess(db, partner, true, act())
  const draft = { name: 'Bench Client', callbackUrl, scope: 'read trade', rotateRefreshTokens: false }
  return createClient(db, vault, partner, 'live', draft, { ...act(), development: true })
}

async function makeHolders(db: Database, client: Client): Promise<void> {
  const first = {
    username: 'bench',
    name: 'Ada Holder',
    password: 'correct horse battery',
    role: 'holder',
  } as const
  const user = await createUser(db, openPasswords(1), first, act())
  await ask(db, copyHolders, [user.id, holders, client.id])
}

async function makeGrants(
  db: Database,
  codes: readonly Token[],
  exchangedAt: Date | undefined,
): Promise<number[]> {
  const now = new Date()
  const values = [
    hashesOf(codes),
    callbackUrl,
    new Date(now.getTime() + 10 * minute),
    now,
    exchangedAt,
    holders,
  ]
  const rows = await ask<{ id: number }>(db, insertGrants, values)
  return rows.map((row) => row.id)
}

function issueMany(kind: TokenKind, count: number): Token[] {
  return Array.from({ length: count }, () => issueToken(kind, 'live'))
}

function hashesOf(tokens: readonly Token[]): Buffer[] {
  return tokens.map((token) => token.hash)
}

function textsOf(tokens: readonly Token[]): string[] {
  return tokens.map((token) => token.text)
}
