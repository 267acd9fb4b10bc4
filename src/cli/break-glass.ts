/**
 * A command that does alone what takes two people in the console says so: to the operator who runs it, in the
 * log, and by e-mail.
 */

import { recordBreakGlass } from '../proposals/break-glass.ts'
import { isAmong, type ProposalKind } from '../vocabulary/proposal-kind.ts'
import type { WriteContext } from './command.ts'

/** Before it is done: what fails afterwards was tried. */
export async function breakGlass(
  { db, config, act, print }: WriteContext,
  kind: ProposalKind,
  subject: string,
): Promise<void> {
  if (!isAmong(config.fourEyes, kind)) return
  await db.transaction((sql) => recordBreakGlass(sql, kind, subject, act()))
  print.say(
    `In the console this takes two people (FOUR_EYES). You do it alone: it is recorded, and administrators and security officers are told.\n`,
  )
}
