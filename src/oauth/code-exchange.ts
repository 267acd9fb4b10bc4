/** Spec 4.3: trading an authorization code for an access token, once. */
import { hash } from 'node:crypto'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, second } from '../clock.ts'
import { issueToken, parseToken } from '../crypto/token.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import type { Sql } from '../database/database.ts'
import type { Registration } from '../partners/client.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { printScopes } from '../vocabulary/scope.ts'
import type { Binding } from './binding.ts'
import { requireInForce } from './client-directory.ts'
import * as table from './codes.sql.ts'
import { noAccountText, noScopeText, OAuthError, type OAuthErrorCode, pausedText } from './oauth-error.ts'
import { printResources } from './resources.ts'
import { accessTokenLifetimeSeconds, type IssuedTokens } from './token-response.ts'

interface PresentedCode {
  readonly code: string
  readonly callbackUrl: string | undefined
  readonly verifier: string | undefined
  /** Of its sender, which the tokens will be bound to. */
  readonly binding: Binding | undefined
  /** For which of those that the code is for (RFC 8707); none: for all of them. */
  readonly resources: readonly string[]
}

type Outcome = (typeof table.outcomes)[number]

interface Exchange {
  readonly codeHash: Buffer
  readonly clientId: string
  readonly callbackUrl: string | undefined
  readonly challenge: string | undefined
  readonly binding: Binding | undefined
  readonly resources: readonly string[]
  readonly accessHash: Buffer
  readonly refreshHash: Buffer | undefined
  readonly act: Act
}

interface JudgedCode {
  readonly codeHash: Buffer
  readonly id: number
  readonly outcome: Outcome
  readonly scopes: readonly string[]
}

const refusals: Record<Exclude<Outcome, 'exchanged'>, string> = {
  foreign: 'The code is unknown, expired or already used.',
  expired: 'The code is unknown, expired or already used.',
  replayed:
    'The code has been used before; the tokens that it gave are revoked. Start the authorization again.',
  revoked: 'The user has revoked the authorization.',
  paused: pausedText,
  'other-callback': 'redirect_uri differs from the callback URL that the code was sent to.',
  'other-key': 'The code is bound to another key than that of the DPoP proof.',
  'other-resource': 'resource may only name what the authorization request named.',
  'wrong-verifier': 'code_verifier does not match the code_challenge of the authorization request.',
  'no-account': noAccountText,
  'no-scope': noScopeText,
}

export interface CodeExchange {
  exchange(client: Registration, presented: PresentedCode, act: Act): Promise<IssuedTokens>
}

export function openCodeExchange(db: Sql, environment: Environment): CodeExchange {
  const batch: Batch<Exchange, JudgedCode | undefined> = openBatch(
    (items) => exchangeAll(db, items, environment),
    {
      keyOf: (item) => item.codeHash.toString('latin1'),
    },
  )

  return {
    async exchange(client, presented, act) {
      requireInForce(client)
      const code = parseToken(presented.code)
      if (code?.kind !== 'code' || code.environment !== environment)
        throw new OAuthError('invalid_grant', refusals.foreign)
      const access = issueToken('access', environment)
      const refresh = client.refreshAccess ? issueToken('refresh', environment) : undefined
      const judged = await batch.run({
        codeHash: code.hash,
        clientId: client.id,
        callbackUrl: presented.callbackUrl,
        challenge:
          presented.verifier === undefined ? undefined : hash('sha256', presented.verifier, 'base64url'),
        binding: presented.binding,
        resources: presented.resources,
        accessHash: access.hash,
        refreshHash: refresh?.hash,
        act,
      })
      if (judged?.outcome !== 'exchanged') {
        if (judged) await punish(db, judged, act)
        throw refusalOf(judged?.outcome ?? 'foreign')
      }
      return {
        accessToken: access.text,
        refreshToken: refresh?.text,
        scope: printScopes(judged.scopes),
        binding: presented.binding,
        issuedAt: act.at,
      }
    },
  }
}

const refusalCodes: Partial<Record<Outcome, OAuthErrorCode>> = {
  'no-scope': 'invalid_scope',
  'other-resource': 'invalid_target',
}

function refusalOf(outcome: Exclude<Outcome, 'exchanged'>): OAuthError {
  return new OAuthError(refusalCodes[outcome] ?? 'invalid_grant', refusals[outcome])
}

async function exchangeAll(
  db: Sql,
  items: Exchange[],
  environment: Environment,
): Promise<(JudgedCode | undefined)[]> {
  const now = items[0]!.act.at
  const rows = await db.query(table.exchangeCodes, {
    codeHashes: items.map((item) => item.codeHash),
    clientIds: items.map((item) => item.clientId),
    callbackUrls: items.map((item) => item.callbackUrl ?? null),
    challenges: items.map((item) => item.challenge ?? null),
    bindings: items.map((item) => item.binding ?? null),
    resources: items.map((item) => printResources(item.resources)),
    accessHashes: items.map((item) => item.accessHash),
    refreshHashes: items.map((item) => item.refreshHash ?? null),
    addresses: items.map((item) => item.act.by.address ?? null),
    requestIds: items.map((item) => item.act.by.requestId ?? null),
    issuedAt: now,
    expiresAt: after(now, accessTokenLifetimeSeconds * second),
    environment,
  })
  const byHash = new Map(rows.map((row) => [row.codeHash.toString('latin1'), row]))
  return items.map((item) => byHash.get(item.codeHash.toString('latin1')))
}

/**
 * A code used twice by its own client ends every token it gave. Another client's attempt ends nothing, or a
 * leaked code would be a switch to cut people off. A code that was seen expired stays so, whatever the clock
 * does next.
 */
async function punish(db: Sql, judged: JudgedCode, act: Act): Promise<void> {
  const subject = `grant:${judged.id}`
  if (judged.outcome === 'foreign') return recordAct(db, act, 'code.presented_by_other_client', subject)
  if (judged.outcome === 'expired') {
    await db.query(table.revokeGrant, { id: judged.id, at: act.at, reason: 'code expired' })
  }
  if (judged.outcome === 'replayed') {
    await db.transaction(async (sql) => {
      await sql.query(table.revokeGrant, { id: judged.id, at: act.at, reason: 'code replayed' })
      await recordAct(sql, act, 'code.replayed', subject)
    })
  }
}
