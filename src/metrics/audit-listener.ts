/**
 * How far the collector of the audit log is behind; the same whichever process is asked. Nothing, where there is
 * none.
 */
import { Gauge, type Registry } from 'prom-client'
import { type PushState, readPushState } from '../audit-push/push-state.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'

const figures: readonly [name: string, help: string, value: (state: PushState) => number][] = [
  [
    'countersign_audit_unheard_blocks',
    'Blocks of the audit log that the collector of AUDIT_PUSH_URL has not heard.',
    ({ unheardBlocks }) => unheardBlocks,
  ],
  [
    'countersign_audit_unheard_seconds',
    'How long the oldest of them has been waiting.',
    ({ unheardMs }) => unheardMs / 1_000,
  ],
]

export function addAuditListener(
  registers: Registry[],
  db: Database,
  clock: Clock,
  address: Buffer | undefined,
): void {
  for (const [name, help, value] of figures)
    new Gauge({
      ...{ name, help, registers, aggregator: 'first' },
      async collect() {
        if (!address) return this.remove()
        try {
          this.set(value(await readPushState(db, address, clock.now())))
        } catch {
          this.remove()
        }
      },
    })
}
