/** What is due to be told, found at once; the workers of the gateway send it. */
import { findDue } from '../../src/alerts/due.ts'
import { type AlertOwner, addAddress, codeOf } from '../../src/alerts/target.ts'
import { ask } from './ask.ts'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'

/** Two nodes look at the same time. Done when nothing that is due waits to be sent. */
export async function tellDue(house: TestGateway): Promise<void> {
  const { db } = house.gateway.context
  const now = house.clock.now()
  await Promise.all([findDue(db, now), findDue(db, now)])
  await allSent(house)
}

/** Those of partners that may act. */
export async function allSent({ gateway, clock }: TestGateway): Promise<void> {
  await eventually('alerts that were sent', async () => {
    const waiting = await ask(
      gateway.context.db,
      `SELECT FROM alerts a JOIN alert_targets t ON t.id = a.target_id
         LEFT JOIN partners p USING (branch_id)
       WHERE a.state = 'waiting' AND t.state <> 'removed'
         AND (t.branch_id IS NULL OR may_act(p.status, t.environment)) AND (due_at <= $1 OR held_until > $1)`,
      [clock.now()],
    )
    return waiting.length === 0
  })
}

/** An address where nobody listens, after its code has gone out in vain; and that code. */
export async function makeAddress(house: TestGateway, owner: AlertOwner, isConfirmed = false) {
  const made = await queueAddress(house, owner, isConfirmed)
  await eventually('a code that went out', async () => {
    const sent = `SELECT FROM alerts WHERE target_id = $1 AND outcome IS NOT NULL`
    return (await ask(house.gateway.context.db, sent, [Number(made.target)])).length > 0
  })
  return made
}

/** The same where no worker sends it. */
export async function queueAddress({ gateway, act }: TestGateway, owner: AlertOwner, isConfirmed: boolean) {
  const { db, vault, guard } = gateway.context
  const draft = { url: 'http://127.0.0.1:9/alerts', what: ['failing'] as const, waitMinutes: 5 }
  const { target } = await addAddress(db, { vault, policy: guard }, owner, draft, act())
  const code = `SELECT id FROM alerts WHERE target_id = $1 ORDER BY id DESC LIMIT 1`
  const [last] = await ask<{ id: number }>(db, code, [target.id])
  if (isConfirmed) await ask(db, `UPDATE alert_targets SET state = 'confirmed' WHERE id = $1`, [target.id])
  return { target: String(target.id), code: codeOf(vault, last!.id) }
}
