/** A partner with members, clients, a webhook and deliveries, for the tests of the partner portal. */
import { addMember, getPartner, type Partner, setPartnerStatus } from '../../src/partners/partner.ts'
import type { User } from '../../src/users/user.ts'
import { type BranchProgram, openBranch, transaction } from './branch.ts'
import type { Browser } from './browser.ts'
import type { TestClient, TestGateway } from './gateway.ts'
import type { Receiver } from './receiver.ts'

export interface PartnerHouse {
  readonly partner: Partner
  readonly user: User
  readonly browser: Browser
  readonly client: TestClient
  readonly program: BranchProgram
  /** Where the partner's pages begin. */
  readonly home: string
}

/** An approved partner, its client, and one member who is signed in. */
export async function openPartner(house: TestGateway): Promise<PartnerHouse> {
  const { db } = house.gateway.context
  const partner = await house.makePartner()
  const client = await house.makeClient({ partner })
  const user = await house.makeUser()
  await addMember(db, partner, user, house.act())
  const browser = await house.signIn(user)
  const program = await openBranch(house, { client })
  return { partner, user, browser, client, program, home: `/partner/${partner.branchId}` }
}

/** Somebody else owns it too: the only owner cannot be removed. */
export async function addOwner(house: TestGateway, partner: Partner): Promise<User> {
  const user = await house.makeUser()
  await addMember(house.gateway.context.db, partner, user, house.act())
  return user
}

export async function suspend(house: TestGateway, partner: Partner, reason: string): Promise<void> {
  const { db } = house.gateway.context
  const current = await getPartner(db, String(partner.branchId))
  await setPartnerStatus(db, current, 'suspended', reason, house.act())
}

/** A webhook of the partner that accepts, and a delivery that it took. */
export async function deliverOne({ program }: PartnerHouse, receiver: Receiver, path = '/hooks') {
  const webhookId = await program.register(receiver.url(path))
  const fired = await program.fire(transaction())
  return { webhookId, deliveryId: fired.deliveries.find((each) => each.webhookId === webhookId)!.id }
}
