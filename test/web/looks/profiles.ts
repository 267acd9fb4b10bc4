/** Clients of each profile. */
import { after, day } from '../../../src/clock.ts'
import type { Client } from '../../../src/partners/client.ts'
import { addKeys } from '../../../src/partners/client-keys.ts'
import { setProfile } from '../../../src/partners/client-profile.ts'
import { readJwksText } from '../../../src/partners/jwks.ts'
import { findKeySet, placeKeys } from '../../../src/partners/key-sets.ts'
import type { Partner } from '../../../src/partners/partner.ts'
import { makeKey, printJwks } from '../../support/client-keys.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { answer, type Receiver } from '../../support/receiver.ts'

/** With everything still to do. */
export async function makeMoving(house: TestGateway, partner: Partner): Promise<Client> {
  const client = await house.makeClient({ partner })
  return setProfile(
    house.gateway.context.db,
    client,
    { from: after(house.clock.now(), 14 * day) },
    house.act(),
  )
}

/** Since now, with two keys and all that is demanded. */
export async function makeBound(house: TestGateway, partner: Partner): Promise<Client> {
  const { db } = house.gateway.context
  const client = await house.makeClient({ partner })
  await addKeys(db, client, readJwksText(printJwks(makeKey(), makeKey('EdDSA'))), house.act())
  const terms = { from: house.clock.now(), demandsDpopNonces: true }
  return setProfile(db, client, terms, house.act())
}

/** Its key was given; its address, which has come since, fails. */
export async function placeUnreadable(house: TestGateway, client: Client, receiver: Receiver): Promise<void> {
  const { db, config } = house.gateway.context
  await addKeys(db, client, readJwksText(printJwks(makeKey('PS256', { kid: '2026-03' }))), house.act())
  receiver.on('/no-keys', answer(404))
  const place = { jwksUri: receiver.url('/no-keys'), policy: config.webhooks }
  await placeKeys(db, client, place, house.act())
  await eventually('the address has failed', async () => (await findKeySet(db, client.id))?.fault !== null)
}
