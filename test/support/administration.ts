/** Programs that administer. */
import { createCredential } from '../../src/users/admin-credential.ts'
import type { User } from '../../src/users/user.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import type { StaffRole } from '../../src/vocabulary/permission.ts'
import { type Answer, type SentRequest, send } from './browser.ts'
import type { TestGateway } from './gateway.ts'

export type AdminMethod = NonNullable<SentRequest['method']>

export interface AdminProgram {
  readonly credentialId: number
  readonly maker: User
  readonly headers: Readonly<Record<string, string>>
  call(method: AdminMethod, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

interface ProgramOptions {
  readonly role?: StaffRole
  readonly environment?: Environment
  readonly maker?: User
  readonly readers?: readonly User[]
  readonly days?: number
}

/** A program with a credential of its own, for somebody of the staff with just its role. */
export async function openAdminProgram(
  house: TestGateway,
  { role = 'administrator', environment = 'live', maker, readers = [], days = 90 }: ProgramOptions = {},
): Promise<AdminProgram> {
  const person = maker ?? (await house.makeOperator('Mia Maker', [role]))
  const { credential, secret } = await createCredential(
    house.gateway.context.db,
    { userId: person.id, name: 'test', environment, role, readers: readers.map(({ id }) => id), days },
    house.act(),
  )
  const baseUrl = environment === 'live' ? house.baseUrl : house.sandboxUrl
  const headers = { authorization: `Bearer ${secret.text}` }
  return {
    credentialId: credential.id,
    maker: person,
    headers,
    call: (method, path, body, more = {}) =>
      send(baseUrl + path, {
        method,
        headers: {
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...more,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  }
}
