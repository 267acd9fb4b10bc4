/** Somebody who walks through the house, and stops where there is something to look at. */
import type { Page } from 'playwright-core'
import type { User } from '../../../src/users/user.ts'
import type { TestGateway } from '../../support/gateway.ts'
import type { PartnerSite } from '../../support/partner-site.ts'
import type { Receiver } from '../../support/receiver.ts'

export interface Walk {
  readonly house: TestGateway
  readonly receiver: Receiver
  readonly site: PartnerSite
  readonly page: Page
  /** A page of the live site, or a whole address. */
  visit(address: string): Promise<unknown>
  /** Whoever was there leaves; somebody else signs in on the way to the page. */
  enter(address: string, user: User): Promise<unknown>
}

/** Each name is a stop: the page is as it is to be seen. */
export type Tour = (walk: Walk) => AsyncGenerator<string, void>

/** A stop at each of these. */
export async function* visitAll(
  { visit }: Walk,
  pages: Record<string, string>,
): AsyncGenerator<string, void> {
  for (const [name, address] of Object.entries(pages)) {
    await visit(address)
    yield name
  }
}

/** So that what is folded away is seen too. */
export function unfold(page: Page): Promise<unknown> {
  return page.evaluate(`for (const each of document.querySelectorAll('main details')) each.open = true`)
}
