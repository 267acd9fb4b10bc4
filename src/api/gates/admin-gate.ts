/** Programs that administer: each row of the table names what their role must allow. Nothing is remembered. */
import type { FastifyRequest } from 'fastify'
import type { Act, ActingCredential } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import { environmentOfToken, parseToken } from '../../crypto/token.ts'
import { Forbidden, Problem } from '../../problem.ts'
import { findActing } from '../../users/admin-credential.ts'
import { type Permission, permits } from '../../vocabulary/permission.ts'
import { countFailure, failureKey } from './failures.ts'
import type { ApiGate, CredentialEnvironment } from './gate.ts'
import { actOf } from './gates.ts'

export interface Administrator {
  readonly credential: ActingCredential
  readonly act: Act
}

export function admin(permission: Permission): ApiGate<Administrator> {
  const gate: ApiGate<Administrator> = async (context, request) => {
    const credential = await authenticate(context, request)
    request.who = { credentialId: credential.id, userId: credential.userId }
    if (!permits([credential.role], permission))
      throw new Forbidden(
        `This needs the permission ${permission}, which the role ${credential.role} of this credential does not have.`,
      )
    const { by, at } = actOf(context, request, `credential:${credential.id}`)
    return { credential, act: { by: { ...by, credential }, at } }
  }
  return Object.assign(gate, { permission, environmentOf })
}

const environmentOf: CredentialEnvironment = (request) => environmentOfToken(readToken(request))

async function authenticate(context: Context, request: FastifyRequest): Promise<ActingCredential> {
  const token = parseToken(readToken(request))
  // Whatever else it is, no look at the database tells.
  if (token?.kind !== 'administration' || token.environment !== context.environment) throw refusal()
  const key = failureKey(request, 'administration')
  context.clientFailures.check(key)
  const found = await findActing(context.db, token, context.clock.now())
  if (found) return found
  await countFailure(context, request, key)
  throw refusal()
}

function readToken({ headers }: FastifyRequest): string {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

function refusal(): Problem {
  const headers = { 'www-authenticate': 'Bearer realm="countersign"' }
  return new Problem(
    401,
    'unauthorized',
    'The credential is missing, unknown, has ended, or may do more than the person it is for. Send one for administration as Bearer.',
    { headers },
  )
}
