/** The secrets that sign a webhook's deliveries: its own, or those of the client that registered it. */
import { after } from '../../clock.ts'
import { openGathering } from '../../concurrency/gather.ts'
import type { Vault } from '../../crypto/vault.ts'
import type { Changes } from '../../database/changes.ts'
import type { Sql } from '../../database/database.ts'
import { openMemory } from '../../database/memory.ts'
import { openClientSecret } from '../../partners/client-secret.ts'
import type { SigningSecrets } from '../outbound/signature.ts'
import { openWebhookSecret, overlapMs } from './webhook.ts'
import { selectClientSecretsOfWebhook, selectWebhookSecrets } from './webhooks.sql.ts'

interface TimedSecret {
  readonly text: string
  readonly signsFromMs: number
  readonly endsAtMs: number
}

interface WebhookKey {
  readonly webhookId: number
}

const ofWebhook = ({ webhookId }: WebhookKey) => webhookId

export interface SecretKeeper {
  /**
   * Undefined when the webhook has no secret left that could sign. Without a promise when they are
   * remembered.
   */
  find(webhookId: number, now: Date): SigningSecrets | undefined | Promise<SigningSecrets | undefined>
}

export function openSecretKeeper(db: Sql, vault: Vault, changes: Changes): SecretKeeper {
  const memory = openMemory<readonly TimedSecret[]>(changes)
  const readRows = openGathering(async (webhookIds: readonly number[]) => {
    const [own, borrowed] = await Promise.all([
      db.query(selectWebhookSecrets, { webhookIds }),
      db.query(selectClientSecretsOfWebhook, { webhookIds }),
    ])
    const [ownOf, borrowedOf] = [Map.groupBy(own, ofWebhook), Map.groupBy(borrowed, ofWebhook)]
    return (id: number) => ({ own: ownOf.get(id) ?? [], borrowed: borrowedOf.get(id) ?? [] })
  })
  async function read(webhookId: number) {
    const { own, borrowed } = await readRows(webhookId)
    // The client's secrets sign until the first custom one takes over, and live on beside it for the overlap.
    const takenOver = own.at(-1)?.signsFrom
    const lastMs = takenOver ? after(takenOver, overlapMs).getTime() : Number.POSITIVE_INFINITY
    const value = [
      ...own.flatMap((row) =>
        timed(openWebhookSecret(vault, webhookId, row.sealed), row.signsFrom, row.endsAt),
      ),
      ...borrowed
        .flatMap((row) =>
          row.sealed && row.signsFrom
            ? timed(openClientSecret(vault, row.clientId, row.sealed), row.signsFrom, row.endsAt)
            : [],
        )
        .map((secret) => ({ ...secret, endsAtMs: Math.min(secret.endsAtMs, lastMs) })),
    ]
    return {
      value,
      tags: [`webhook:${webhookId}`, ...borrowed.slice(0, 1).map((row) => `client:${row.clientId}`)],
    }
  }
  return {
    find(webhookId, now) {
      const key = String(webhookId)
      const known = memory.recall(key)
      if (known) return choose(known, now.getTime())
      return memory.learn(key, () => read(webhookId)).then((learned) => choose(learned, now.getTime()))
    },
  }
}

function choose(all: readonly TimedSecret[], nowMs: number): SigningSecrets | undefined {
  const living = all.filter((secret) => secret.endsAtMs > nowMs)
  const current = living.find((secret) => secret.signsFromMs <= nowMs) ?? living[0]
  if (!current) return undefined
  return {
    current: current.text,
    all: [current.text, ...living.filter((each) => each !== current).map((each) => each.text)],
  }
}

function timed(text: string | undefined, signsFrom: Date, endsAt: Date | null): TimedSecret[] {
  if (text === undefined) return []
  return [{ text, signsFromMs: signsFrom.getTime(), endsAtMs: endsAt?.getTime() ?? Number.POSITIVE_INFINITY }]
}
