/**
 * oidc-provider doing what the gateway does: opaque tokens, no ID tokens, a refresh token with every code, no
 * rotation. Codes and tokens are made by its own models, so that every request does the endpoint's whole
 * work.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AdapterFactory, Provider } from 'oidc-provider'
import { callbackUrl, holders } from '../brokerage.ts'
import { peerClient } from '../oidc-provider.ts'
import type { Request } from '../server-process.ts'
import { announce } from './announce.ts'
import { openMemoryAdapter } from './memory-adapter.ts'
import { openPostgresAdapter } from './postgres-adapter.ts'

const scope = 'read trade'
const dayS = 86_400
const savesAtOnce = 32

const [storage] = process.argv.slice(2) as [string]
const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const provider = openProvider(storage === 'memory' ? openMemoryAdapter() : await openPostgresAdapter(storage))
server.on('request', provider.callback())
const grantIds = await inTurns(holders, saveGrant)
announce(origin, makeMany)

function openProvider(adapter: AdapterFactory): Provider {
  return new Provider(origin, {
    adapter,
    clients: [
      {
        client_id: peerClient.id,
        client_secret: peerClient.secret,
        redirect_uris: [callbackUrl],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    scopes: scope.split(' '),
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: false,
    pkce: { required: () => false },
    features: {
      devInteractions: { enabled: false },
      introspection: {
        enabled: true,
        allowedPolicy: (_context, client, token) => client.clientId === token.clientId,
      },
      revocation: { enabled: true },
    },
    ttl: { AccessToken: dayS, AuthorizationCode: 600, Grant: 30 * dayS, RefreshToken: 30 * dayS },
  })
}

async function makeMany({ kind, count }: Request): Promise<string[]> {
  const client = await provider.Client.find(peerClient.id)
  if (!client) throw new Error('The client is configured.')
  const Model = {
    codes: provider.AuthorizationCode,
    accessTokens: provider.AccessToken,
    refreshTokens: provider.RefreshToken,
  }[kind]
  if (!Model) throw new Error(`Nobody makes ${kind}.`)
  return inTurns(count, (n) =>
    new Model({
      ...{ accountId: accountOf(n), client, grantId: grantIds[n % holders]!, scope },
      ...{ gty: 'authorization_code', redirectUri: callbackUrl },
    }).save(),
  )
}

function saveGrant(n: number): Promise<string> {
  const grant = new provider.Grant({ accountId: accountOf(n), clientId: peerClient.id })
  grant.addOIDCScope(scope)
  return grant.save()
}

function accountOf(n: number): string {
  return `id-${String(n % holders).padStart(12, '0')}`
}

async function inTurns(count: number, save: (n: number) => Promise<string>): Promise<string[]> {
  const saved: string[] = []
  let next = 0
  const turn = async () => {
    while (next < count) {
      const n = next++
      saved[n] = await save(n)
    }
  }
  await Promise.all(Array.from({ length: savesAtOnce }, turn))
  return saved
}
