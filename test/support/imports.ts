/** Imports as the brokerage's systems send them, in the states in which somebody finds them. */
import type { Act } from '../../src/audit/audit.ts'
import type { Database } from '../../src/database/database.ts'
import { type Import, readImport, startImport } from '../../src/provisioning/import.ts'
import { finishImport } from '../../src/provisioning/snapshot.ts'
import { makeUpWord } from './made-up-word.ts'
import { nameSource } from './provisioning.ts'

/** A gateway, or a database without one: nobody else removes there meanwhile. */
interface ImportingHouse {
  readonly gateway: { readonly context: { readonly db: Database } }
  act(): Act
}

interface ImportOptions {
  readonly mode?: Import['mode']
  readonly dryRun?: boolean
  readonly asOf?: number
  readonly environment?: Import['environment']
  readonly totalBytes?: number
}

/**
 * Lines as they stand, or records; all of them, as the last line of a snapshot says. What is missing may be a
 * hundredth.
 */
export async function importLines(
  house: ImportingHouse,
  source: string,
  lines: readonly (string | object)[],
  sent: ImportOptions = {},
): Promise<Import> {
  const all = sent.mode === 'snapshot' ? [...lines, { end: { records: lines.length } }] : lines
  return finishImport(house.gateway.context.db, await readSome(house, source, all, sent), 1, house.act())
}

/** One whose sender has not come to the end yet. */
export async function readSome(
  { gateway, act }: ImportingHouse,
  source: string,
  lines: readonly (string | object)[],
  { mode = 'changes', dryRun = false, environment = 'live', ...more }: ImportOptions = {},
): Promise<Import> {
  const { db } = gateway.context
  await nameSource({ gateway, act }, environment, source)
  const started = await startImport(db, { source, environment, mode, dryRun, ...more }, act())
  const text = lines.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join('')
  return readImport(db, started, bytesOf(text), { act })
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

/** A customer with an account of theirs. */
export function household(source: string, n: number, version = 1): object[] {
  const number = `${source.replaceAll('-', '').toUpperCase()}X${n}`
  return [
    { kind: 'customer', externalId: `C${n}`, name: `Carla Customer ${n}`, version },
    { kind: 'account', externalId: `A${n}`, number, type: 'cash', version },
    { kind: 'holding', customer: `C${n}`, account: `A${n}`, role: 'owner', version },
  ]
}

export const households = (source: string, count: number) =>
  Array.from({ length: count }, (_, n) => household(source, n)).flat()

/** Of four customers it has one: it waits for a yes. */
export async function holdSnapshot(house: ImportingHouse, customers = 4): Promise<Import> {
  const source = makeUpWord()
  await importLines(house, source, households(source, customers))
  return importLines(house, source, household(source, 0), { mode: 'snapshot', asOf: 1 })
}
