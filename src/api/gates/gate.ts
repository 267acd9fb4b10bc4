/** Who may call: what a gate is. The gates themselves are in gates.ts. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import type { Permission } from '../../vocabulary/permission.ts'
import type { Scope } from '../../vocabulary/scope.ts'

/** Finds out who calls, or throws the refusal. */
export interface ApiGate<Caller> {
  (context: Context, request: FastifyRequest, reply: FastifyReply): Caller | Promise<Caller>
  /** Where a bearer token is taken: what is asked of it. */
  readonly protection?: Protection
  /**
   * Where the brokerage's own programs call, at the internal listener, which serves both environments: the one
   * that the credential is of, as far as it can be read. The gate judges it there.
   */
  readonly environmentOf?: CredentialEnvironment
  /** What a credential for administration must be allowed to do. */
  readonly permission?: Permission
}

export type CredentialEnvironment = (request: FastifyRequest) => Environment | undefined

export interface Protection {
  readonly scope: Scope
  /** `issued`: by the authorization server, or made by the user. `personal`: made by the user alone. */
  readonly tokens: 'issued' | 'personal'
}
