/** Whether an operator could do what takes an administrator, and two could do what takes two. */
import { permissionOfKind } from '../audit/powers.ts'
import type { Database } from '../database/database.ts'
import { proposableActs } from '../proposals/acts.ts'
import { countDeciders } from '../proposals/deciders.ts'
import type { Config } from '../settings/config.ts'
import { selectAdministrators } from '../users/staff-roles.sql.ts'
import { countOperators } from '../users/users.sql.ts'
import { rolesWith } from '../vocabulary/permission.ts'
import { type Answer, fail, ok, warn } from './finding.ts'

export async function checkAdministrators(db: Database): Promise<Answer> {
  const administrators = await db.query(selectAdministrators)
  const counted = await db.one(countOperators)
  const count = administrators.length
  if (count > 0)
    return { finding: ok(`${count} ${count === 1 ? 'person is' : 'people are'} administrator by hand.`) }
  if (counted.operators === 0) return { finding: ok('There is no staff yet.') }
  return {
    finding: warn(
      'Nobody is an administrator by hand: when the identity provider is away or gives out no roles, nobody can change any.',
      'Give somebody the role: countersign staff give USER --role administrator.',
    ),
  }
}

export async function checkAddresses(db: Database): Promise<Answer> {
  const { operators, unaddressed } = await db.one(countOperators)
  if (unaddressed === 0)
    return {
      finding: ok(
        operators === 0 ? 'There is no staff yet.' : 'Everybody of the staff has an e-mail address.',
      ),
    }
  return {
    finding: warn(
      `${unaddressed} of ${operators} operators ${unaddressed === 1 ? 'has' : 'have'} no e-mail address: nobody can tell them of proposals, or of what happens to their account.`,
      'Let their identity provider send email with email_verified (--scope email), or give them one: countersign user set-email.',
    ),
  }
}

/** Acts of commands alone need no decision. */
const isDecided = (kind: string) => Object.hasOwn(proposableActs, kind)

export async function checkFourEyes(db: Database, { fourEyes }: Config): Promise<Answer> {
  if (fourEyes.length === 0) return { finding: ok('No act takes two people (FOUR_EYES is not set).') }
  const stuck: string[] = []
  for (const kind of fourEyes.filter(isDecided)) {
    const people = await countDeciders(db, kind)
    if (people < 2) stuck.push(`${kind} (${people} of 2: ${rolesWith(permissionOfKind(kind)).join(' or ')})`)
  }
  if (stuck.length === 0) return { finding: ok('There are two people for each act that takes two.') }
  const advice =
    'Give a second person the role: countersign staff give USER --role ROLE. Or take the kind out of FOUR_EYES.'
  return { finding: fail(`Nobody could decide about proposals: ${stuck.join(', ')}.`, advice) }
}
