/** As much of oidc-provider's interface as the benchmark uses; the package ships no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export type Payload = Record<string, unknown> & { grantId?: string; consumed?: number }

  export interface Adapter {
    upsert(id: string, payload: Payload, expiresInS: number): Promise<void>
    find(id: string): Promise<Payload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export type AdapterFactory = (model: string) => Adapter

  export interface Model {
    save(): Promise<string>
  }

  export interface Grant extends Model {
    addOIDCScope(scope: string): void
  }

  export interface Client {
    readonly clientId: string
  }

  export interface Configuration {
    adapter: AdapterFactory
    clients: Record<string, unknown>[]
    scopes: string[]
    findAccount(context: unknown, id: string): { accountId: string; claims(): Record<string, unknown> }
    issueRefreshToken(): boolean
    rotateRefreshToken: boolean
    pkce: { required(): boolean }
    features: {
      devInteractions: { enabled: boolean }
      introspection: {
        enabled: boolean
        allowedPolicy(context: unknown, client: Client, token: Client): boolean
      }
      revocation: { enabled: boolean }
    }
    ttl: Record<string, number>
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration)
    readonly Client: { find(id: string): Promise<Client | undefined> }
    readonly Grant: new (
      fields: Record<string, unknown>,
    ) => Grant
    readonly AuthorizationCode: new (
      fields: Record<string, unknown>,
    ) => Model
    readonly AccessToken: new (
      fields: Record<string, unknown>,
    ) => Model
    readonly RefreshToken: new (
      fields: Record<string, unknown>,
    ) => Model
    callback(): RequestListener
  }
}
