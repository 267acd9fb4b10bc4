/** Whether the collector that the settings name hears the audit log. */
import { readPushState } from '../audit-push/push-state.ts'
import { type Clock, minute } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Config } from '../settings/config.ts'
import { type Answer, grade, ok, printDuration } from './finding.ts'

const limits = { warn: minute, fail: 15 * minute }
const advice =
  'Does a worker run? Look at what the collector says of its connections, at its certificate and AUDIT_PUSH_CA_FILE, and at what lets this gateway in. Nothing is lost meanwhile: the log waits.'

export async function checkAuditListener({ auditPush }: Config, db: Database, clock: Clock): Promise<Answer> {
  if (!auditPush) return { finding: ok('The audit log is pushed to nobody.') }
  const state = await readPushState(db, auditPush.address, clock.now())
  const { position, unheardBlocks, unheardMs, failure } = state
  if (unheardBlocks === 0)
    return { finding: ok(`${auditPush.host} has heard the audit log up to block ${position}.`) }
  const why = failure === null ? '' : `: ${failure}`
  const found = `${auditPush.host} has not heard ${unheardBlocks} blocks of the audit log, the oldest for ${printDuration(unheardMs)}${why}.`
  return { finding: grade(unheardMs, limits, found, advice) }
}
