/**
 * The profile of a client (src/oauth/profile.ts): since when, or from when on, FAPI 2.0 is demanded of it. What
 * stands in the way is named all at once. Meanwhile no statement can bring it back: constraints and triggers
 * hold the callback, the webhooks and the secrets (migrations/0004-partners.sql, 0010-webhooks.sql).
 */
import { type Act, recordAct } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { type Client, getClient } from './client.ts'
import { lockClient, selectReadiness, updateProfile } from './clients.sql.ts'

export interface ProfileTerms {
  /** Null: the standard profile. The moment of the act: at once. */
  readonly from: Date | null
  /** Whether bearer tokens end then, or live out their time. */
  readonly endsBearers: boolean
  readonly demandsDpopNonces: boolean
}

export interface Obstacle {
  readonly about: 'webhooks' | 'callback' | 'keys'
  /** With the remedy. */
  readonly text: string
}

export function termsOf(client: Client): ProfileTerms {
  const { fapi2From: from, fapi2EndsBearers: endsBearers, demandsDpopNonces } = client
  return { from, endsBearers, demandsDpopNonces }
}

/** In effect, not merely planned. */
export function hasFapi2({ fapi2From }: Pick<Client, 'fapi2From'>, now: Date): boolean {
  return fapi2From !== null && fapi2From <= now
}

/** Whether something would be taken that is refused now. What is only planned may be planned anew. */
export function weakens(client: Client, terms: Partial<ProfileTerms>, now: Date): boolean {
  const { from, endsBearers, demandsDpopNonces } = { ...termsOf(client), ...terms }
  if (client.demandsDpopNonces && !demandsDpopNonces) return true
  if (!hasFapi2(client, now)) return false
  return from === null || from > now || (client.fapi2EndsBearers && !endsBearers)
}

/** What is not given stays. */
export function setProfile(
  db: Sql,
  { id }: Pick<Client, 'id'>,
  change: Partial<ProfileTerms>,
  act: Act,
): Promise<Client> {
  return db.transaction(async (sql) => {
    await sql.query(lockClient, { id })
    const before = await getClient(sql, id)
    const terms = { ...termsOf(before), ...change }
    if (terms.from !== null && terms.from.getTime() !== before.fapi2From?.getTime())
      await refuseUnready(sql, before, terms.from, act.at)
    const after = await sql.one(updateProfile, { id, ...terms, updatedAt: act.at })
    await recordAct(sql, act, 'client.profile_set', `client:${id}`, {
      branchId: before.branchId,
      profile: terms.from === null ? 'standard' : 'fapi2',
      ...(terms.from && { from: terms.from, bearers: terms.endsBearers ? 'end' : 'live-out' }),
      demandsDpopNonces: terms.demandsDpopNonces,
    })
    return after
  })
}

async function refuseUnready(sql: Sql, client: Client, from: Date, now: Date): Promise<void> {
  if (from < now)
    throw new Invalid([
      { field: 'from', problem: 'must not lie in the past; leave it out to switch at once' },
    ])
  const obstacles = (await findObstacles(sql, client, from)).filter(
    ({ about }) => about !== 'keys' || from <= now,
  )
  if (obstacles.length === 0) return
  const words = obstacles.map(({ text }) => text).join(' ')
  throw new Conflict(`The client cannot have FAPI 2.0 ${from <= now ? 'yet' : 'then'}. ${words}`)
}

/** Keys may come until then; the others are there when the moment is set. */
export async function findObstacles(sql: Sql, client: Client, at: Date): Promise<Obstacle[]> {
  const { signs, hasKey } = await sql.one(selectReadiness, { id: client.id, at })
  const obstacles: Obstacle[] = []
  if (signs.length > 0)
    obstacles.push({
      about: 'webhooks',
      text: `The client secret signs webhook${signs.length === 1 ? '' : 's'} ${signs.join(', ')}: give each a secret of its own, which signs by then, or delete it.`,
    })
  if (!/^https:\/\//i.test(client.callbackUrl))
    obstacles.push({
      about: 'callback',
      text: `The callback ${client.callbackUrl} is not https: register one that begins with https://.`,
    })
  if (!hasKey)
    obstacles.push({
      about: 'keys',
      text: 'It has no key to prove itself by: add a public key, the address of its keys, or the subject of its certificate.',
    })
  return obstacles
}
