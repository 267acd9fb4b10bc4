/**
 * What the tests of e-mail notices share: people with an address, what was written for them, and a post that
 * is told when to send.
 */

import pino from 'pino'
import type { Sql } from '../../src/database/database.ts'
import type { Courier } from '../../src/notices/courier.ts'
import { tellUser } from '../../src/notices/notice.ts'
import { noticeWords } from '../../src/notices/notice-words.ts'
import type { PostDependencies } from '../../src/notices/post.ts'
import type { MailServer as Server } from '../../src/settings/config.ts'
import { setEmail } from '../../src/users/email.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from './ask.ts'
import type { TestGateway } from './gateway.ts'

export const from = { name: 'Countersign', address: 'notices@broker.example' }

let people = 0

export async function makeReader(house: TestGateway): Promise<User & { email: string }> {
  const user = await house.makeUser()
  const email = `reader-${++people}@example.com`
  await setEmail(house.gateway.context.db, user, email, house.act())
  return { ...user, email }
}

export interface NoticeRow {
  readonly id: number
  readonly userId: string
  readonly email: string
  readonly kind: string
  readonly facts: Record<string, unknown>
  readonly state: string
  readonly attempts: number
  readonly dueAt: Date
  readonly error: string | null
  readonly createdAt: Date
  readonly settledAt: Date | null
}

const selectNotices = `SELECT id, user_id AS "userId", email, kind, facts, state, attempts, due_at AS "dueAt", error,
    created_at AS "createdAt", settled_at AS "settledAt" FROM notices
   WHERE user_id = $1 ORDER BY id`

export function noticesOf(db: Sql, { id }: Pick<User, 'id'>): Promise<NoticeRow[]> {
  return ask<NoticeRow>(db, selectNotices, [id])
}

let written = 0

/** Any notice will do. */
export async function writeNotice({ gateway, clock }: TestGateway, user: User): Promise<void> {
  const facts = { environment: 'live', address: '192.0.2.7', userAgent: 'curl/8' } as const
  await tellUser(
    gateway.context.db,
    user.id,
    { kind: 'sign-in', key: `test-${++written}`, facts },
    clock.now(),
  )
}

/** A post of the test's own, beside that of the gateway. */
export function openPostDependencies({ gateway, clock }: TestGateway, courier: Courier): PostDependencies {
  const addresses = { live: gateway.baseUrl, sandbox: gateway.sandboxUrl }
  return {
    db: gateway.context.db,
    clock,
    log: pino({ level: 'silent' }),
    courier,
    findWords: (notice) => noticeWords(notice, addresses, gateway.context.vault),
    closing: new AbortController().signal,
  }
}

export function serverAt(port: number, more: Partial<Server> = {}): Server {
  const none = { user: undefined, password: undefined, certificateAuthority: undefined }
  return { host: '127.0.0.1', port, secure: false, requireTls: false, ...none, ...more }
}
