/** A declined applicant amends the application and applies again. Its former text stays in the messages. */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { type Application, checkApplication } from './application-details.ts'
import {
  countApplications,
  replaceApplication,
  selectApplicant,
  updateToApplied,
} from './applications.sql.ts'
import type { Partner } from './partner.ts'
import { writeDown } from './partner-message.ts'
import { allowFeeds, lockApplicant, selectUndecided } from './partners.sql.ts'

/**
 * One statement decides: of two members who apply at once, and of an operator who approves just then, one
 * comes first.
 */
export async function applyAgain(
  db: Sql,
  { branchId }: Partner,
  { name, ...application }: Application & { readonly name: string },
  act: Act,
): Promise<void> {
  checkApplication(name, application)
  const kept = { name: name.trim(), ...application }
  await db.transaction(async (sql) => {
    const applicantId = await holdApplicant(sql, branchId, act)
    await refuseTooOften(sql, branchId, act.at)
    const [applied] = await sql
      .query(updateToApplied, { branchId, name: kept.name, updatedAt: act.at })
      .catch((error: unknown) => {
        throw violates(error, 'partners_name_key')
          ? new Invalid([{ field: 'name', problem: 'is taken' }])
          : error
      })
    if (!applied) throw new Conflict('Only an application that was declined can be sent again.')
    await sql.query(allowFeeds, { branchId, status: 'applied' })
    const { website, contact, purpose } = application
    await sql.query(replaceApplication, {
      branchId,
      applicantId,
      website,
      contact,
      purpose,
      createdAt: act.at,
    })
    await writeDown(sql, { branchId }, { kind: 'applied', side: 'partner', application: kept }, act)
    await recordAct(sql, act, 'partner.applied', `branch:${branchId}`, { name: kept.name, again: true })
  })
}

/**
 * Of one user one application waits at a time. A member who applies again for another member's application
 * does it in that applicant's name.
 */
async function holdApplicant(sql: Sql, branchId: number, act: Act): Promise<string> {
  const [first] = await sql.query(selectApplicant, { branchId })
  const [, acting] = /^user:(.+)$/.exec(act.by.name) ?? []
  const applicantId = first?.applicantId ?? acting
  if (applicantId === undefined) throw new Error(`${act.by.name} is nobody who applies.`)
  await sql.query(lockApplicant, { id: applicantId })
  const others = await sql.query(selectUndecided, { applicantId })
  if (others.some((each) => each.branchId !== branchId && each.status === 'applied'))
    throw new Conflict(
      'Another application of yours waits already. Wait for the answer before you apply again.',
    )
  return applicantId
}

const applicationsAtMost = { count: 5, withinMs: 30 * day }

/** Each application opens the sandbox: an applicant who is declined again and again waits, or writes. */
async function refuseTooOften(sql: Sql, branchId: number, now: Date): Promise<void> {
  const { count, withinMs } = applicationsAtMost
  const sent = await sql.one(countApplications, { branchId, since: after(now, -withinMs) })
  if (sent.applications >= count)
    throw new Conflict(`You applied ${count} times in 30 days. Write to the brokerage below instead.`)
}
