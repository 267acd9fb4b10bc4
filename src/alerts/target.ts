/**
 * Where alerts go: the mail of a partner's members, and addresses that are POSTed to. An address is written to
 * after the code that was sent there has come back: nobody has a stranger written to.
 */

import { randomBytes } from 'node:crypto'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, hour } from '../clock.ts'
import { equalBytes, hmacSha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { SealedTable } from '../database/reseal.ts'
import { findUrlProblem, type GuardPolicy } from '../network/address-guard.ts'
import { hostOf } from '../notices/alert.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { countOwnRows, insertOwn } from './alerts.sql.ts'
import * as table from './targets.sql.ts'

export const addressesEach = 5
/** An address that is removed makes no room for another within the hour. */
const additionsAnHour = 10
const codeMs = hour
const codesAnHour = 5
const testsAnHour = 10
const guessesEach = 5

/** A partner on one site, or the brokerage. */
export type AlertOwner =
  | { readonly branchId: number; readonly environment: Environment }
  | { readonly branchId: null; readonly environment: null }

export const theBrokerage: AlertOwner = { branchId: null, environment: null }

export interface AlertTarget {
  readonly id: number
  readonly branchId: number | null
  readonly environment: Environment | null
  readonly kind: 'mail' | 'address'
  readonly state: 'unconfirmed' | 'confirmed' | 'removed'
  readonly url: string | null
  readonly what: readonly AlertKind[]
  readonly waitMinutes: number
  readonly createdAt: Date
}

interface AlertChoice {
  readonly what: readonly AlertKind[]
  readonly waitMinutes: number
}

interface TargetDependencies {
  readonly vault: Vault
  readonly policy: GuardPolicy
}

const secretPurpose = (id: number) => `alert-secret:${id}`

export function listTargets(sql: Sql, owner: AlertOwner): Promise<AlertTarget[]> {
  return sql.query(table.selectTargets, owner)
}

/** The secret is shown once. */
export async function addAddress(
  sql: Sql,
  { vault, policy }: TargetDependencies,
  owner: AlertOwner,
  { url, what, waitMinutes }: AlertChoice & { readonly url: string },
  act: Act,
): Promise<{ readonly target: AlertTarget; readonly secret: string }> {
  const { builtIn: _, ...anywhere } = policy
  const problem = findUrlProblem(url, anywhere)
  if (problem) throw new Invalid([{ field: 'url', problem }])
  checkChoice({ what, waitMinutes })
  return sql.transaction(async (inner) => {
    await inner.query(table.lockOwner, { owner: `alerts:${owner.branchId}:${owner.environment}` })
    const { living, made } = await inner.one(table.countAddresses, { ...owner, since: after(act.at, -hour) })
    if (living >= addressesEach)
      throw new Conflict(`There may be ${addressesEach} addresses. Remove one that is no longer needed.`)
    if (made >= additionsAnHour)
      throw new Conflict(`${additionsAnHour} addresses were added within an hour. Try again later.`)
    const { id } = await inner.one(table.nextTargetId)
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    const sealed = vault.seal(secretPurpose(id), secret)
    const target = await inner.one(table.insertTarget, {
      ...{ ...owner, id, url, sealed, what, waitMinutes, now: act.at },
    })
    await queue(inner, target, 'confirmation', act.at)
    await recordAct(inner, act, 'alert.address_added', subjectOf(target), {
      ...ofOwner(owner),
      host: hostOf(url),
    })
    return { target, secret }
  })
}

export async function sendCode(sql: Sql, owner: AlertOwner, id: number, act: Act): Promise<void> {
  await sql.transaction(async (inner) => {
    const target = await lock(inner, owner, id)
    if (target.state !== 'unconfirmed') throw new Conflict('This address is confirmed already.')
    await limit(inner, target, 'confirmation', codesAnHour, act.at)
    await inner.query(table.updateGuesses, { id, guesses: 0 })
    await queue(inner, target, 'confirmation', act.at)
    await recordAct(inner, act, 'alert.code_sent', subjectOf(target), ofOwner(owner))
  })
}

/** A wrong guess is counted, whatever becomes of the rest: it answers instead of throwing inside. */
export async function confirmAddress(
  sql: Sql,
  vault: Vault,
  owner: AlertOwner,
  id: number,
  typed: string,
  act: Act,
): Promise<void> {
  const problem = await sql.transaction(async (inner) => {
    const target = await lock(inner, owner, id)
    if (target.state === 'confirmed') return undefined
    const [last] = await inner.query(table.selectLastCode, { targetId: id, since: after(act.at, -codeMs) })
    if (!last) return 'has run out: send a new code'
    if (target.guesses >= guessesEach) return `was wrong ${guessesEach} times: send a new code`
    if (!isCode(vault, last.id, typed.replaceAll(/[\s-]/g, ''))) {
      await inner.query(table.updateGuesses, { id, guesses: target.guesses + 1 })
      return 'is not the last one that was sent to this address'
    }
    await inner.query(table.updateState, { id, state: 'confirmed' })
    await recordAct(inner, act, 'alert.address_confirmed', subjectOf(target), ofOwner(owner))
    return undefined
  })
  if (problem) throw new Invalid([{ field: 'code', problem }])
}

export async function changeTarget(
  sql: Sql,
  owner: AlertOwner,
  id: number,
  choice: AlertChoice,
  act: Act,
): Promise<AlertTarget> {
  checkChoice(choice)
  return sql.transaction(async (inner) => {
    const before = await lock(inner, owner, id)
    await inner.query(table.updateTarget, { id, ...choice })
    await recordAct(inner, act, 'alert.changed', subjectOf(before), { ...ofOwner(owner), ...choice })
    return before
  })
}

export async function removeAddress(sql: Sql, owner: AlertOwner, id: number, act: Act): Promise<void> {
  await sql.transaction(async (inner) => {
    const target = await lock(inner, owner, id)
    if (target.kind === 'mail') throw new Conflict('Mail cannot be removed: choose that it tells of nothing.')
    await inner.query(table.updateState, { id, state: 'removed' })
    await inner.query(table.giveUpWaiting, { targetId: id })
    await recordAct(inner, act, 'alert.address_removed', subjectOf(target), {
      ...ofOwner(owner),
      host: hostOf(target.url ?? ''),
    })
  })
}

export async function sendTest(sql: Sql, owner: AlertOwner, id: number, act: Act): Promise<void> {
  await sql.transaction(async (inner) => {
    const target = await lock(inner, owner, id)
    if (target.kind === 'mail') throw new Conflict('Only addresses can be tested.')
    if (target.state !== 'confirmed') throw new Conflict('Confirm the address first.')
    await limit(inner, target, 'test', testsAnHour, act.at)
    await queue(inner, target, 'test', act.at)
    await recordAct(inner, act, 'alert.tested', subjectOf(target), ofOwner(owner))
  })
}

/** Eight digits, derived from the row that sends them: no code is stored. */
export function codeOf(vault: Vault, alertId: number): string {
  return digitsOf(vault.derive('alert-code')[0], alertId)
}

function isCode(vault: Vault, alertId: number, typed: string): boolean {
  const given = Buffer.from(typed)
  return vault.derive('alert-code').some((key) => equalBytes(Buffer.from(digitsOf(key, alertId)), given))
}

function digitsOf(key: Buffer, alertId: number): string {
  const number = hmacSha256(key, String(alertId)).readBigUInt64BE()
  return String(number % 100_000_000n).padStart(8, '0')
}

export function openAlertSecret(vault: Vault, id: number, sealed: Buffer): string | undefined {
  return vault.open(secretPurpose(id), sealed)
}

export const sealedAlertSecrets: SealedTable = {
  select: table.selectSealedTargets,
  read: table.readSealedTargets,
  update: table.updateSealedTarget,
  purposeOf: ({ id }) => secretPurpose(id),
}

async function lock(sql: Sql, owner: AlertOwner, id: number) {
  const [target] = await sql.query(table.lockTarget, { ...owner, id })
  if (!target) throw new NotFound('This address has been removed.')
  return target
}

async function queue(sql: Sql, { id }: AlertTarget, kind: 'test' | 'confirmation', now: Date): Promise<void> {
  await sql.query(insertOwn, { targetId: id, kind, now })
}

async function limit(
  sql: Sql,
  { id }: AlertTarget,
  kind: 'test' | 'confirmation',
  most: number,
  now: Date,
): Promise<void> {
  const { count } = await sql.one(countOwnRows, { targetId: id, kind, since: after(now, -hour) })
  if (count >= most) throw new Conflict(`${most} were sent within an hour. Try again later.`)
}

function checkChoice({ waitMinutes }: AlertChoice): void {
  if (!Number.isInteger(waitMinutes) || waitMinutes < 0 || waitMinutes > 1_440)
    throw new Invalid([{ field: 'wait', problem: 'must be 0 to 1440 minutes' }])
}

const subjectOf = ({ id }: AlertTarget) => `alert:${id}`

const ofOwner = ({ branchId }: AlertOwner) => (branchId === null ? {} : { branchId })
