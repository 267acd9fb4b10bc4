/** A gateway whose audit log is pushed, and what its collector must have in the end. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordAct } from '../../src/audit/audit.ts'
import { printHead } from '../../src/audit/block.ts'
import { findHead, sealAll } from '../../src/audit/chain.ts'
import { openHeadSigner } from '../../src/audit/head-signer.ts'
import { checkStream } from '../../src/audit/stream-check.ts'
import { openCollector } from '../../src/audit-push/open-collector.ts'
import { pushAudit } from '../../src/audit-push/push.ts'
import { readPushState } from '../../src/audit-push/push-state.ts'
import { day, minute } from '../../src/clock.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { ask } from './ask.ts'
import { parseMessage, type SyslogReceiver } from './audit-collectors.ts'
import { inTurn } from './audit-stream.ts'
import { makeCertificate } from './certificate.ts'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import { makeFolder } from './process.ts'

const folder = makeFolder()
const year = 365 * day
export const certificate = makeCertificate(
  ['localhost'],
  new Date(Date.now() - day),
  new Date(Date.now() + year),
)
export const ownCertificate = makeCertificate(
  ['gateway'],
  new Date(Date.now() - day),
  new Date(Date.now() + year),
)

export function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
export const trusting = { AUDIT_PUSH_CA_FILE: file('ca.pem', certificate.cert) }

export const write = ({ gateway, act }: TestGateway, subject: string) =>
  recordAct(gateway.context.db, act(), 'client.updated', subject, { name: subject })
export const seal = ({ gateway, clock }: TestGateway) => sealAll(gateway.context.db, clock.now(), 'wait')

export function stateOf(house: TestGateway, { context }: Gateway = house.gateway) {
  return readPushState(context.db, context.config.auditPush!.address, house.clock.now())
}

/** With the waits after failures over. The clock stands still else: a lease would be over too. */
export function untilHeard(house: TestGateway): Promise<unknown> {
  return eventually('the whole log is heard', async () => {
    await seal(house)
    const { unheardBlocks, failure } = await stateOf(house)
    if (failure !== null) house.clock.advance(minute)
    return unheardBlocks === 0
  })
}

export const untilFailing = (house: TestGateway, gateway = house.gateway) =>
  eventually('it is known that it is not heard', async () => {
    await seal(house)
    const state = await stateOf(house, gateway)
    return state.failure === null ? undefined : state
  })

/** That these lines are the whole log, and what of it came more than once. */
export async function judge(
  { gateway: { context } }: TestGateway,
  lines: readonly string[],
): Promise<number> {
  const { publicKey } = await openHeadSigner(context.db, context.vault)
  const { problems, first, head, signed, repeated } = await checkStream(inTurn(lines), publicKey)
  assert.deepEqual([problems, first], [[], 1])
  const newest = printHead(await findHead(context.db))
  assert.equal(printHead(head!), newest)
  assert.ok(signed)
  const [{ count }] = (await ask<{ count: number }>(
    context.db,
    `SELECT count(*)::int FROM audit_entries WHERE id NOT IN (SELECT entry_id FROM audit_unsealed)`,
  )) as [{ count: number }]
  assert.equal(new Set(lines.filter((line) => line.startsWith('{"kind":"entry"'))).size, count)
  return repeated
}

export const textsOf = ({ messages }: SyslogReceiver) => messages.map((message) => parseMessage(message).text)

/** A push by hand, of a house whose node pushes nothing by itself. */
export function openPush({ gateway, clock }: TestGateway, closing = new AbortController().signal) {
  const { db, vault, log, config } = gateway.context
  const push = config.auditPush!
  const collector = openCollector(push, 'auth.example.com')
  return () => pushAudit({ db, vault, clock, log, closing, config: push, collector })
}
