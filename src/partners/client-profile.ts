/**
 * The profile of a client (src/oauth/profile.ts): since when, or from when on, FAPI 2.0 is demanded of it. What
 * stands in the way is named all at once. Meanwhile no statement can bring it back: constraints and triggers
 * hold the callback, the webhooks and the secrets (migrations/0004-partners.sql, 0010-webhooks.sql).
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { type Client, getClient } from './client.ts'
import { revokeSecretsOfBefore } from './client-secret.ts'
import { lockClient, selectReadiness, updateProfile } from './clients.sql.ts'
import { tellOfProfile } from './message-notices.ts'

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

/** So long after the moment whoever goes back finds all as it was. By then bearer tokens have ended, too. */
const returnMs = day

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
    const isMoved = terms.from?.getTime() !== before.fapi2From?.getTime()
    if (isMoved && terms.from !== null) await refuseUnready(sql, before, terms.from, act.at)
    const updated = await sql.one(updateProfile, { id, ...terms, updatedAt: act.at })
    await endSecretsForGood(sql, before, updated, act)
    await recordAct(sql, act, 'client.profile_set', `client:${id}`, {
      branchId: before.branchId,
      profile: terms.from === null ? 'standard' : 'fapi2',
      ...(terms.from && { from: terms.from, bearers: terms.endsBearers ? 'end' : 'live-out' }),
      demandsDpopNonces: terms.demandsDpopNonces,
    })
    if (isMoved) await tellOfProfile(sql, id, act.at)
    return updated
  })
}

async function endSecretsForGood(sql: Sql, before: Client, updated: Client, act: Act): Promise<void> {
  const { id, fapi2From } = before
  if (fapi2From === null || after(fapi2From, returnMs) > act.at || hasFapi2(updated, act.at)) return
  await revokeSecretsOfBefore(sql, id, fapi2From, act)
}

async function refuseUnready(sql: Sql, client: Client, from: Date, now: Date): Promise<void> {
  if (from < now)
    throw new Invalid([
      { field: 'from', problem: 'must not lie in the past; leave it out to switch at once' },
    ])
  const readiness = (await readReadiness(sql, [client], now, from)).get(client.id)!
  const obstacles = findObstacles(client, readiness).filter(({ about }) => about !== 'keys' || from <= now)
  if (obstacles.length === 0) return
  const words = obstacles.map(({ text }) => text).join(' ')
  throw new Conflict(`The client cannot have FAPI 2.0 ${from <= now ? 'yet' : 'then'}. ${words}`)
}

/** What a client has of what FAPI 2.0 takes. */
export interface Readiness {
  /** The webhooks that its secret signs at the moment. */
  readonly signs: readonly number[]
  readonly keys: number
  readonly keyLastUsedAt: Date | null
}

/** At the moment that is asked about, or else at the one that is set for each, or else now. */
export async function readReadiness(
  sql: Sql,
  clients: readonly Client[],
  now: Date,
  at?: Date,
): Promise<ReadonlyMap<string, Readiness>> {
  const rows = await sql.query(selectReadiness, { ids: clients.map(({ id }) => id), at, now })
  return new Map(rows.map(({ id, ...readiness }) => [id, readiness]))
}

/** Keys may come until the moment; the others are out of the way before it is set. */
export function findObstacles(client: Client, { signs, keys }: Readiness): Obstacle[] {
  const { callbackUrl, jwksUri, certificateSubject } = client
  const obstacles: Obstacle[] = []
  if (signs.length > 0)
    obstacles.push({
      about: 'webhooks',
      text: `The client secret signs webhook${signs.length === 1 ? '' : 's'} ${signs.join(', ')}: give each a secret of its own, which signs by then, or delete it.`,
    })
  if (!/^https:\/\//i.test(callbackUrl))
    obstacles.push({
      about: 'callback',
      text: `The callback ${callbackUrl} is not https: register one that begins with https://.`,
    })
  if (keys === 0 && jwksUri === null && certificateSubject === null)
    obstacles.push({
      about: 'keys',
      text: 'It has no key to prove itself by: add a public key, the address of its keys, or the subject of its certificate.',
    })
  return obstacles
}
