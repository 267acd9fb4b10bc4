/** What the program of a partner does, by whichever library. */
import type { CryptoKey } from 'jose'
import type { Fetch } from './house.ts'

export interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  readonly token_type: string
}

export interface Program {
  /** Where programs with a certificate come, by what discovery says. */
  readonly mtlsOrigin: string
  /** Pushes the request; what the browser opens. */
  start(): Promise<URL>
  finish(calledAt: URL): Promise<Tokens>
  refresh(refreshToken: string): Promise<Tokens>
  getWebhookToken(): Promise<Tokens>
  read(accessToken: string, url: URL): Promise<Response>
  introspect(token: string): Promise<Introspection>
  revoke(token: string): Promise<void>
}

interface Introspection {
  readonly active: boolean
  readonly cnf?: object | undefined
}

export interface Setup {
  readonly issuer: URL
  readonly clientId: string
  readonly fetch: Fetch
  /** It signs who it is with this; without one its certificate says so. */
  readonly key?: CryptoKey | undefined
  /** Its certificate binds its tokens, instead of proofs. */
  readonly isBoundByCertificate: boolean
}

/** Whether it comes where certificates are asked for. */
export function usesAliases({ key, isBoundByCertificate }: Setup): boolean {
  return isBoundByCertificate || key === undefined
}
