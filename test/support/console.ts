/** An operator at work, and what the console's tests act on. */
import { statement } from '../../src/database/database.ts'
import type { StaffRole } from '../../src/users/staff-role.ts'
import type { User } from '../../src/users/user.ts'
import type { Answer, Browser } from './browser.ts'
import type { TestGateway } from './gateway.ts'

export interface Desk {
  readonly user: User
  readonly browser: Browser
}

/** Somebody of the staff, signed in on the live site: an administrator, or with these roles. */
export async function openDesk(
  house: TestGateway,
  name = 'Olga Operator',
  roles?: readonly StaffRole[],
): Promise<Desk> {
  const user = await house.makeOperator(name, roles)
  return { user, browser: await house.signIn(user) }
}

/** Somebody who is something else already becomes an administrator too. */
export async function makeAdministrator({ gateway, clock }: TestGateway, { id }: User): Promise<void> {
  const { db } = gateway.context
  await db.query(statement('', `UPDATE users SET role = 'operator' WHERE id = $1`), [id])
  await db.query(statement('', `INSERT INTO staff_roles VALUES ($1, 'administrator', 'hand', $2)`), [id, clock.now()])
}

/** Opens the page and sends its form, as somebody does who presses the button there, and says why where they are asked. */
export async function press(browser: Browser, page: string, action: string, fields: Record<string, string> = {}) {
  return browser.submit(await browser.get(page), page + action, { reason: 'It was asked for.', ...fields })
}

/** This page of a list, and every page that it leads on to. */
export async function turnPages(browser: Browser, address: string): Promise<Answer[]> {
  const page = await browser.get(address)
  const next = /<a href="([^"]*)" rel="next"/.exec(page.text)
  return next ? [page, ...(await turnPages(browser, next[1]!.replaceAll('&amp;', '&')))] : [page]
}
