import { after, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { lockNoticesOf, tellUser, wasTold } from '../notices/notice.ts'
import { cut } from '../text/cut.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { findMail } from './email.ts'
import type { Browser } from './session.ts'

/**
 * A browser that signs in twice before it has its device cookie, or forgets it each time, is one device for
 * so long.
 */
const sameDeviceMs = 10 * minute

/** For a sign-in without proof that this user has signed in from this browser before. */
export async function tellOfSignIn(
  sql: Sql,
  userId: string,
  environment: Environment,
  { address, userAgent }: Browser,
  now: Date,
): Promise<void> {
  if (!(await findMail(sql, userId))?.email) return
  await lockNoticesOf(sql, userId)
  const facts = { environment, address, userAgent: cut(userAgent, 300) }
  if (await wasTold(sql, userId, 'sign-in', facts, after(now, -sameDeviceMs))) return
  await tellUser(sql, userId, { kind: 'sign-in', key: crypto.randomUUID(), facts }, now)
}
