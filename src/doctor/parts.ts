/** The parts of the delivery engine: how many there are, where they lie, and whether each answers. */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { findAwayParts, printAwayParts } from '../webhooks/events/away-parts.ts'
import { selectLastDay } from '../webhooks/events/days.sql.ts'
import { dayOf } from '../webhooks/events/days.ts'
import { readPartServers } from '../webhooks/events/layout.sql.ts'
import { allParts, isDistributed, learnLayout } from '../webhooks/events/part.ts'
import { type Answer, fail, ok } from './finding.ts'

export async function checkParts(db: Database, clock: Clock): Promise<Answer> {
  await learnLayout(db)
  if (!isDistributed()) return { finding: ok(`${allParts.length} parts, in this database.`) }
  const servers = await db.query(readPartServers)
  const { day } = await db.one(selectLastDay)
  const away = await findAwayParts(db)
  const names = new Set(servers.map(({ host, port }) => `${host}:${port}`))
  if (away.length === 0 && (day ?? 0) <= dayOf(clock.now()))
    return {
      finding: fail(
        'Tomorrow is not open yet: it is opened two days ahead, on all workers at once.',
        'What is published tomorrow would be kept under today. Look at the log of the nodes for why.',
      ),
    }
  if (away.length === 0)
    return { finding: ok(`${allParts.length} parts on ${names.size} workers of Citus; all answer.`) }
  const lost = servers.filter(({ part }) => away.includes(part))
  const where = [...new Set(lost.map(({ host, port }) => `${host}:${port}`))].join(', ')
  return {
    finding: fail(
      `${printAwayParts(away)} (${where}).`,
      "Their partners' deliveries wait, and go on by themselves when the worker is back. Look at the PostgreSQL there.",
    ),
  }
}
