/** Programs that administer. */
import assert from 'node:assert/strict'
import type { Sql } from '../../src/database/database.ts'
import { findNames, type ObjectKind } from '../../src/naming/object-name.ts'
import { getProposal } from '../../src/proposals/proposal.ts'
import { createCredential } from '../../src/users/admin-credential.ts'
import type { User } from '../../src/users/user.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import type { StaffRole } from '../../src/vocabulary/permission.ts'
import { type Answer, type SentRequest, send } from './browser.ts'
import type { ConsoleSession } from './console.ts'
import type { TestGateway } from './gateway.ts'

export type AdminMethod = NonNullable<SentRequest['method']>

export interface AdminProgram {
  readonly credentialId: number
  readonly maker: User
  readonly headers: Readonly<Record<string, string>>
  /** Where it calls, and what it is known by. */
  readonly url: string
  readonly credential: string
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
  const headers = { authorization: `Bearer ${secret.text}` }
  return {
    credentialId: credential.id,
    maker: person,
    headers,
    url: house.internalUrl,
    credential: secret.text,
    call: (method, path, body, more = {}) =>
      send(house.internalUrl + path, {
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

export interface DeclarationAnswer {
  readonly outcome: string
  readonly changes: readonly { field: string; before: unknown; after: unknown; proposed: boolean }[]
  readonly proposals: readonly { id: number; kind: string; isNew: boolean }[]
  readonly etag: string | null
}

export interface DeclaredItem {
  readonly name: string
  readonly owner: string | null
  readonly spec: Record<string, unknown>
  readonly status: Record<string, unknown>
  readonly etag: string
}

/** What came of it, which was answered with this status. */
export function outcomeOf(answer: Answer, status: number): DeclarationAnswer {
  assert.equal(answer.status, status, answer.text)
  return answer.json<DeclarationAnswer>()
}

export async function fetchItem(program: AdminProgram, path: string): Promise<DeclaredItem> {
  const answer = await program.call('GET', path)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<DeclaredItem>()
}

/** As another person decides in the console. */
export async function approveProposal(
  house: TestGateway,
  { browser }: Pick<ConsoleSession, 'browser'>,
  id: number,
): Promise<string | null> {
  const page = await browser.get(`/console/proposals/${id}`)
  await browser.submit(page, `/console/proposals/${id}/approve`, {})
  return (await getProposal(house.gateway.context.db, id)).outcome
}

/** What it is called, which was made elsewhere. */
export async function nameOfObject(db: Sql, kind: ObjectKind, id: string | number): Promise<string> {
  const name = (await findNames(db, kind, [String(id)])).get(String(id))
  if (name === undefined) throw new Error(`${kind} ${id} has no name.`)
  return name
}
