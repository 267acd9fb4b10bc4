/**
 * RFC 6749, 4.4, for clients that have no secret: a token of the client's own, bound to its sender, good for its
 * webhooks and for nothing else. It is a kind of its own, so that no place that takes a user's token takes it.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, type Clock, hour } from '../clock.ts'
import { fingerprint } from '../crypto/hash.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Changes } from '../database/changes.ts'
import type { Sql } from '../database/database.ts'
import { openMemory } from '../database/memory.ts'
import type { Registration } from '../partners/client.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Binding } from './binding.ts'
import { requireInForce } from './client-directory.ts'
import * as table from './client-tokens.sql.ts'
import { OAuthError } from './oauth-error.ts'
import { profileOf, terms } from './profile.ts'

export const webhooksScope = 'webhooks'
const livesMs = hour
export const clientTokenSeconds = livesMs / 1000

/** Whom it speaks for. */
interface ClientBearer {
  readonly tokenId: number
  readonly clientId: string
  readonly branchId: number
  readonly environment: Environment
  readonly binding: Binding
  readonly demandsDpopNonces: boolean
  readonly expiresAtMs: number
  readonly tags: readonly string[]
}

export interface ClientTokens {
  /** Undefined for one that is not, or no longer, in force. */
  find(token: Token): Promise<ClientBearer | undefined>
}

export function openClientTokens(db: Sql, changes: Changes, clock: Clock): ClientTokens {
  const memory = openMemory<ClientBearer>(changes)
  async function read(token: Token) {
    const [row] = await db.query(table.selectClientToken, { hash: token.hash })
    if (!row?.inForce) return undefined
    const { id: tokenId, inForce: _, expiresAt, binding, ...rest } = row
    const tags = [`client_token:${tokenId}`, `client:${row.clientId}`, `branch:${row.branchId}`]
    const value = { ...rest, tokenId, binding: binding as Binding, expiresAtMs: expiresAt.getTime(), tags }
    return { value, tags }
  }
  return {
    async find(token) {
      const key = fingerprint(token.text)
      const found = memory.recall(key) ?? (await memory.learn(key, () => read(token)))
      return found && clock.now().getTime() < found.expiresAtMs ? found : undefined
    },
  }
}

interface OwnTokenRequest {
  readonly scope: string | undefined
  readonly binding: Binding | undefined
}

export async function issueClientToken(
  db: Sql,
  client: Registration,
  { scope, binding }: OwnTokenRequest,
  act: Act,
): Promise<Token> {
  requireInForce(client)
  if (!terms[profileOf(client, act.at)].ownTokens || binding === undefined)
    throw new OAuthError(
      'unsupported_grant_type',
      'grant_type must be authorization_code or refresh_token. Tokens of its own are for an application that has no secret.',
    )
  if (scope !== undefined && scope.trim() !== webhooksScope)
    throw new OAuthError(
      'invalid_scope',
      `A token of an application's own has the scope ${webhooksScope} and no other.`,
    )
  const token = issueToken('client', client.environment)
  await db.transaction(async (sql) => {
    const values = {
      hash: token.hash,
      clientId: client.id,
      binding,
      issuedAt: act.at,
      expiresAt: after(act.at, livesMs),
    }
    const { id } = await sql.one(table.insertClientToken, values)
    await recordAct(sql, act, 'client.token_issued', `client:${client.id}`, { id })
  })
  return token
}
