/** The link for a new password, as the message to its reader has it. */
import { findLinkToken, resetPath } from '../../src/notices/invitation-link.ts'
import type { User } from '../../src/users/user.ts'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import { type NoticeRow, noticesOf } from './notices.ts'

export async function listResets(house: TestGateway, user: User): Promise<NoticeRow[]> {
  return (await noticesOf(house.gateway.context.db, user)).filter(({ kind }) => kind === 'password-reset')
}

/** Of so many, the last. */
export async function findResetLink(house: TestGateway, user: User, which = 1): Promise<string> {
  const sent = await eventually('the link is written', async () => {
    const all = await listResets(house, user)
    return all.length >= which && all
  })
  const { seed, tokenHash } = sent.at(-1)!.facts as { seed: string; tokenHash: string }
  return resetPath(findLinkToken(house.gateway.context.vault, seed, Buffer.from(tokenHash, 'hex'), 'reset')!)
}
