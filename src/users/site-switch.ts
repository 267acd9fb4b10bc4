/**
 * From the live site to the sandbox without a second sign-in, and never back. The sandbox gives the browser a
 * secret and sends it to the live site, which makes a code for that browser out of its session there; the code
 * counts once, for half a minute, in the browser that has the secret. What it opens has no proofs of its own,
 * and ends with the session that it came from.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, second } from '../clock.ts'
import { sha256 } from '../crypto/hash.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { type Browser, limitsAt, openSession, type Session } from './session.ts'
import { deleteSession } from './sessions.sql.ts'
import { takeSwitch, upsertSwitch } from './site-switches.sql.ts'
import type { User } from './user.ts'

const codeMs = 30 * second

/** What the live site is told of the browser's secret. */
export function markBrowser(secret: string): Buffer {
  return sha256(`site switch ${secret}`)
}

/** A session has one at a time. */
export async function makeSwitchCode(
  sql: Sql,
  session: Session,
  browserMark: Buffer,
  now: Date,
): Promise<Token> {
  const code = issueToken('switch', 'sandbox')
  const values = { sessionId: session.id, codeHash: code.hash, browserHash: browserMark, madeAt: now }
  await sql.query(upsertSwitch, values)
  return code
}

interface SwitchOrigin {
  readonly browserMark: Buffer
  readonly browser: Browser
  /** What this browser had in the sandbox before; it ends. */
  readonly previous: Session | undefined
}

/** Undefined for a code that was used, is too old, or is another browser's: whoever presents it uses it up. */
export function switchToSandbox(
  db: Sql,
  code: Token,
  { browserMark, browser, previous }: SwitchOrigin,
  { by, at: now }: Act,
): Promise<{ readonly user: User; readonly session: Token } | undefined> {
  return db.transaction(async (sql) => {
    const [taken] = await sql.query(takeSwitch, {
      ...limitsAt(now),
      codeHash: code.hash,
      browserHash: browserMark,
      madeAfter: after(now, -codeMs),
    })
    if (!taken?.isGood) return undefined
    const { isGood: _good, sessionId, lockedBy: _lock, ...row } = taken
    const { providerId, providerSubject, providerVouchedAt, providerVouches, ownSecondStep, ...named } = row
    const user: User = { ...named, lockedBy: null }
    const upstream =
      providerId === null
        ? undefined
        : {
            ...{ providerId, subject: providerSubject!, sid: row.providerSid ?? undefined },
            ...{ vouchedAt: providerVouchedAt!, vouches: providerVouches!, ownSecondStep: ownSecondStep! },
            idToken: undefined,
          }
    if (previous) await sql.query(deleteSession, { hash: previous.token.hash })
    const subject = `user:${user.id}`
    await recordAct(sql, { by: { ...by, name: subject }, at: now }, 'session.opened', subject, {
      from: 'the live site',
    })
    const proofs = { passwordAt: undefined, factorAt: undefined }
    const opened = { proofs, upstream, parentId: sessionId }
    return { user, session: await openSession(sql, user, 'sandbox', browser, now, opened) }
  })
}
