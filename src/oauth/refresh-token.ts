/**
 * Spec 4.4: a new access token without asking the user again, for partners with refresh access. The refresh
 * token does not expire. By default it stays the same for ever, and refreshes at the same time all succeed. A
 * client may have rotation switched on: then each use replaces it, and using a replaced one ends the whole
 * grant.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, second } from '../clock.ts'
import { hmacSha256 } from '../crypto/hash.ts'
import { deriveToken, issueToken, parseToken, type Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Batch, openBatch } from '../database/batch.ts'
import type { Sql } from '../database/database.ts'
import type { Registration } from '../partners/client.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { parseScopes, printScopes } from '../vocabulary/scope.ts'
import type { Binding } from './binding.ts'
import { requireInForce } from './client-directory.ts'
import { revokeGrant } from './codes.sql.ts'
import { noAccountText, noScopeText, OAuthError, pausedText } from './oauth-error.ts'
import { profileOf, terms } from './profile.ts'
import * as table from './refresh-tokens.sql.ts'
import { printResources } from './resources.ts'
import { accessTokenLifetimeSeconds, type IssuedTokens } from './token-response.ts'

/** How long a client that did not hear the answer may ask again. */
const rotationGraceMs = 30 * second

type Refusal = (typeof table.refusals)[number]

interface RefreshVerdict {
  readonly outcome: 'refreshed' | Refusal
  readonly scopes: readonly string[]
}

interface Refresh {
  readonly hash: Buffer
  readonly clientId: string
  readonly scope: string | undefined
  readonly resources: readonly string[]
  readonly binding: Binding | undefined
  readonly access: Token
  readonly act: Act
}

interface PresentedRefresh {
  readonly refreshToken: string
  readonly scope: string | undefined
  /** Of its sender, which the access token will be bound to; the refresh token is bound to its client. */
  readonly binding: Binding | undefined
  /** For which of those that the grant is for (RFC 8707); none: for all of them. */
  readonly resources: readonly string[]
}

export interface TokenRefresh {
  refresh(client: Registration, presented: PresentedRefresh, act: Act): Promise<IssuedTokens>
}

interface RefreshDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly environment: Environment
}

export function openTokenRefresh(deps: RefreshDependencies): TokenRefresh {
  const { environment } = deps
  let sequence = 0
  const batch: Batch<Refresh, RefreshVerdict | undefined> = openBatch((items) => refreshAll(deps, items), {
    keyOf: () => String(sequence++),
  })

  return {
    async refresh(client, presented, act) {
      requireInForce(client)
      if (!client.refreshAccess) {
        throw new OAuthError(
          'unauthorized_client',
          'This partner has no refresh access. Ask the brokerage for it, or send the user through authorization again.',
        )
      }
      const token = parseToken(presented.refreshToken)
      if (token?.kind !== 'refresh' || token.environment !== environment) throw refusalOf('unknown')
      const scope = parseNarrowerScope(presented.scope)
      const { resources, binding } = presented
      const { mayRotate } = terms[profileOf(client, act.at)]
      if (client.rotateRefreshTokens && mayRotate)
        return rotate(deps, client, token, { scope, resources, binding }, act)

      const access = issueToken('access', environment)
      const judged = await batch.run({
        hash: token.hash,
        clientId: client.id,
        scope,
        resources,
        binding,
        access,
        act,
      })
      if (judged?.outcome !== 'refreshed') throw refusalOf(judged?.outcome ?? 'unknown')
      return {
        accessToken: access.text,
        refreshToken: token.text,
        scope: printScopes(judged.scopes),
        binding,
        issuedAt: act.at,
      }
    },
  }
}

async function refreshAll(
  { db, environment }: RefreshDependencies,
  items: Refresh[],
): Promise<(RefreshVerdict | undefined)[]> {
  const now = items[0]!.act.at
  const rows = await db.query(table.refreshTokens, {
    places: items.map((_, place) => place),
    hashes: items.map((item) => item.hash),
    clientIds: items.map((item) => item.clientId),
    scopes: items.map((item) => item.scope ?? null),
    resources: items.map((item) => printResources(item.resources)),
    bindings: items.map((item) => item.binding ?? null),
    accessHashes: items.map((item) => item.access.hash),
    addresses: items.map((item) => item.act.by.address ?? null),
    requestIds: items.map((item) => item.act.by.requestId ?? null),
    issuedAt: now,
    expiresAt: after(now, accessTokenLifetimeSeconds * second),
    environment,
  })
  const byPlace = new Map(rows.map((row) => [row.place, row]))
  return items.map((_, place) => byPlace.get(place))
}

/**
 * The child and its access token are derived from the presented token under a secret key: the same question
 * has the same answer, without any token being stored.
 */
async function rotate(
  { db, vault, environment }: RefreshDependencies,
  client: Registration,
  presented: Token,
  { scope, resources, binding }: Pick<Refresh, 'scope' | 'resources' | 'binding'>,
  act: Act,
): Promise<IssuedTokens> {
  const heirOf = (key: Buffer) => ({
    access: deriveToken('access', environment, hmacSha256(key, 'access', presented.text)),
    refresh: deriveToken('refresh', environment, hmacSha256(key, 'refresh', presented.text)),
  })
  const [sealing, ...others] = vault.derive('refresh-rotation')
  const { access, refresh } = heirOf(sealing)
  const heirs = [{ access, refresh }, ...others.map(heirOf)]

  const { by, at } = act
  const [judged] = await db.query(table.rotateToken, {
    hash: presented.hash,
    clientId: client.id,
    scope,
    resources: printResources(resources),
    binding,
    accessHash: access.hash,
    refreshHash: refresh.hash,
    issuedAt: at,
    expiresAt: after(at, accessTokenLifetimeSeconds * second),
    environment,
    address: by.address,
    requestId: by.requestId,
    graceFrom: after(at, -rotationGraceMs),
  })
  if (judged?.outcome === 'rotated') {
    return {
      accessToken: access.text,
      refreshToken: refresh.text,
      scope: printScopes(judged.scopes),
      binding,
      issuedAt: at,
    }
  }
  if (judged?.outcome === 'repeated') {
    const [first] = await db.query(table.selectRotation, {
      accessHashes: heirs.map((heir) => heir.access.hash),
      refreshHashes: heirs.map((heir) => heir.refresh.hash),
    })
    const heir = heirs.find((each) => first && each.access.hash.equals(first.hash))
    if (first && heir) {
      return {
        accessToken: heir.access.text,
        refreshToken: heir.refresh.text,
        scope: printScopes(first.scopes),
        binding: (first.binding ?? undefined) as Binding | undefined,
        issuedAt: first.issuedAt,
      }
    }
  }
  if (judged?.outcome === 'reused') {
    await db.transaction(async (sql) => {
      await sql.query(revokeGrant, { id: judged.grantId, at, reason: 'refresh token reused' })
      await recordAct(sql, act, 'token.reuse_detected', `grant:${judged.grantId}`)
    })
  }
  throw refusalOf(judged?.outcome ?? 'unknown')
}

/**
 * RFC 6749, 6: a refresh may ask for less. Some libraries send an empty `scope`, which asks for nothing
 * special.
 */
function parseNarrowerScope(text: string | undefined): string | undefined {
  const parsed = parseScopes(text ?? '')
  if (parsed.kind === 'unknown') throw refusalOf('wider-scope')
  return parsed.kind === 'none' ? undefined : printScopes(parsed.scopes)
}

function refusalOf(outcome: Refusal | 'repeated'): OAuthError {
  switch (outcome) {
    case 'wider-scope':
      return new OAuthError(
        'invalid_scope',
        'scope may only name what the user approved and the brokerage still allows this application.',
      )
    case 'other-resource':
      return new OAuthError('invalid_target', 'resource may only name what the authorization request named.')
    case 'no-scope':
      return new OAuthError('invalid_scope', noScopeText)
    case 'no-account':
      return new OAuthError('invalid_grant', noAccountText)
    case 'revoked':
      return new OAuthError('invalid_grant', 'The authorization behind this refresh token has been revoked.')
    case 'paused':
      return new OAuthError('invalid_grant', pausedText)
    case 'reused':
      return new OAuthError(
        'invalid_grant',
        'This refresh token was replaced by a newer one. Start the authorization again.',
      )
    default:
      return new OAuthError('invalid_grant', 'The refresh token is unknown.')
  }
}
