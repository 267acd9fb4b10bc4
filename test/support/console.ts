/** An operator at work, and what the console's tests act on. */

import { applyAsPartner } from '../../src/partners/partner.ts'
import { carryOut } from '../../src/proposals/proposal.ts'
import type { StaffRole } from '../../src/users/staff-role.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from './ask.ts'
import type { Answer, Browser } from './browser.ts'
import type { TestGateway } from './gateway.ts'
import { makeUpWord } from './made-up-word.ts'

export interface ConsoleSession {
  readonly user: User
  readonly browser: Browser
}

/** Somebody of the staff, signed in on the live site: an administrator, or with these roles. */
export async function openConsole(
  house: TestGateway,
  name = 'Olga Operator',
  roles?: readonly StaffRole[],
): Promise<ConsoleSession> {
  const user = await house.makeOperator(name, roles)
  return { user, browser: await house.signIn(user) }
}

/** Somebody who is something else already becomes an administrator too. */
export async function makeAdministrator({ gateway, clock }: TestGateway, { id }: User): Promise<void> {
  const { db } = gateway.context
  await ask(db, `UPDATE users SET role = 'operator' WHERE id = $1`, [id])
  await ask(db, `INSERT INTO staff_roles VALUES ($1, 'administrator', 'hand', $2)`, [id, clock.now()])
}

/** Somebody proposes to approve a partner that has applied. Answers the number of the proposal. */
export async function proposeApproval({ gateway, clock, act }: TestGateway, { id }: User): Promise<number> {
  const { db } = gateway.context
  const { branchId } = await applyAsPartner(db, `Applicant ${makeUpWord()}`, act())
  const made = await carryOut(
    { db, fourEyes: ['partner.approve'] },
    'partner.approve',
    { branchId, seen: 'applied' },
    { by: { name: `user:${id}` }, at: clock.now(), reason: 'They passed the review.' },
  )
  if (made.kind !== 'proposed') throw new Error(made.kind)
  return made.id
}

/**
 * Opens the page and sends its form, as somebody does who presses the button there, and says why where they
 * are asked.
 */
export async function press(
  browser: Browser,
  page: string,
  action: string,
  fields: Record<string, string> = {},
) {
  return browser.submit(await browser.get(page), page + action, { reason: 'It was asked for.', ...fields })
}

/** This page of a list, and every page that it leads on to. */
export async function turnPages(browser: Browser, address: string): Promise<Answer[]> {
  const page = await browser.get(address)
  const next = /<a href="([^"]*)" rel="next"/.exec(page.text)
  return next ? [page, ...(await turnPages(browser, next[1]!.replaceAll('&amp;', '&')))] : [page]
}
