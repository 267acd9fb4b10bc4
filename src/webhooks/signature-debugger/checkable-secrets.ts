/**
 * What a partner's question about a signature is held against: the secrets of its own clients and webhooks,
 * by name, and its own recent events.
 */
import type { Vault } from '../../crypto/vault.ts'
import type { Sql } from '../../database/database.ts'
import { openClientSecret } from '../../partners/client-secret.ts'
import type { Branch } from '../events/branch.ts'
import { logOf } from '../events/branch-log.ts'
import type { Kind } from '../events/kind.ts'
import { openWebhookSecret, type Webhook } from '../subscriptions/webhook.ts'
import * as table from './checkable-secrets.sql.ts'
import type { NamedSecret } from './signature-check.ts'

/** Of each kind. */
const secretsAtMost = 20

interface SealedSecret {
  readonly sealed: Buffer
  readonly signsFrom: Date
  readonly endsAt: Date | null
}

/** Those that could have signed, of one webhook or of all. */
export async function listCheckableSecrets(
  sql: Sql,
  vault: Vault,
  { branchId, environment }: Branch,
  webhook: Pick<Webhook, 'id' | 'clientId'> | undefined,
  now: Date,
): Promise<NamedSecret[]> {
  const values = { branchId, environment, most: secretsAtMost }
  const own = await sql.query(table.selectOwnSecrets, { ...values, webhookId: webhook?.id })
  const borrowed = await sql.query(table.selectClientSecrets, { ...values, clientId: webhook?.clientId })
  const isLiving = ({ endsAt }: SealedSecret) => endsAt === null || endsAt > now
  const isOverruled = webhook !== undefined && own.some(isLiving)
  const ofWebhooks = [...Map.groupBy(own, ({ webhookId }) => webhookId)].flatMap(([id, secrets]) =>
    named({ name: `own secret of webhook ${id}`, isOverruled: false }, secrets, now, ({ sealed }) =>
      openWebhookSecret(vault, id, sealed),
    ),
  )
  const ofClients = [...Map.groupBy(borrowed, ({ clientId }) => clientId)].flatMap(([id, secrets]) =>
    named({ name: `secret of the client ${secrets[0]?.name}`, isOverruled }, secrets, now, ({ sealed }) =>
      openClientSecret(vault, id, sealed),
    ),
  )
  return [...ofWebhooks, ...ofClients]
}

/** Newest first. One whose key is gone cannot be tried. */
function named<Row extends SealedSecret>(
  of: Pick<NamedSecret, 'name' | 'isOverruled'>,
  secrets: readonly Row[],
  now: Date,
  open: (row: Row) => string | undefined,
): NamedSecret[] {
  const living = secrets.filter(({ endsAt }) => endsAt === null || endsAt > now)
  const current = living.find(({ signsFrom }) => signsFrom <= now) ?? living[0]
  return secrets.flatMap((row) => {
    const text = open(row)
    const state = stateOf(row, current, living.includes(row), now)
    return text === undefined ? [] : [{ ...of, state, text }]
  })
}

function stateOf(
  row: SealedSecret,
  current: SealedSecret | undefined,
  isLiving: boolean,
  now: Date,
): NamedSecret['state'] {
  if (row === current) return 'current'
  if (!isLiving) return 'ended'
  return row.signsFrom > now ? 'next' : 'previous'
}

export interface RecentEvent {
  readonly kind: Kind
  readonly action: string
  readonly body: string
  readonly publishedAt: Date
}

/** By the name that `webhook-id` has; undefined when it is not the branch's, or too long ago. */
export async function findRecentEvent(
  sql: Sql,
  branch: Branch,
  eventId: string,
): Promise<RecentEvent | undefined> {
  const [, hex] = /^evt_([0-9a-f]{32})$/.exec(eventId) ?? []
  if (hex === undefined) return undefined
  const { part, feed } = logOf(branch)
  const [event] = await sql.query(table.selectRecentEvent, { part, feed, uid: hex })
  return event
}
