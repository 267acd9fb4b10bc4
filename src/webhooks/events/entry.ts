/** What happened, as it stands in the log of its feed. Shared by all lanes of a node: it is never changed. */
export interface LogEntry {
  readonly seq: number
  readonly day: number
  readonly uid: string
  readonly kind: string
  readonly action: string
  /** `transaction:42`; of a test event `transaction:42:test`. */
  readonly entity: string
  readonly simulated: boolean
  /** Of a test event for one webhook alone. */
  readonly webhookId: number | null
  readonly createdAt: Date
  /** The span it was published under; null where the publisher sent none. */
  readonly traceparent: string | null
  readonly body: string
}

/** From a number on, what a webhook wants: kinds, and of those that `actions` names only these actions. */
export interface Filter {
  readonly fromSeq: number
  readonly kinds: readonly string[]
  readonly actions: Readonly<Record<string, readonly string[]>>
}

/**
 * As `wants_event` in SQL; the filter that stood when the entry was numbered decides. Filters are in the
 * order of `fromSeq`.
 */
export function isWanted(entry: LogEntry, webhookId: number, filters: readonly Filter[]): boolean {
  const filter = filters.findLast(({ fromSeq }) => fromSeq <= entry.seq)
  if (!filter) return false
  if (entry.webhookId !== null) return entry.webhookId === webhookId
  if (entry.simulated) return true
  return filter.kinds.includes(entry.kind) && (filter.actions[entry.kind]?.includes(entry.action) ?? true)
}
