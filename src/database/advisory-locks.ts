/**
 * The numbers of PostgreSQL's advisory locks, all of them, so that no two things share one by chance. Beside
 * them, notices lock the name of their recipient by a hash of 64 bits (notices/notices.sql.ts).
 */
export const advisoryLocks = {
  /** One process migrates. */
  migrations: 7_267_101,
  /** One node seals the next block of the audit log. */
  auditChain: 7_267_102,
  /** With the number of a part: one writer of its unfinished deliveries. */
  part: 7_267_103,
  /** One command changes the keys. */
  keys: 7_267_104,
  /**
   * With the id of a sealing key, shared: a running process holds that key. With 0: it is a process that
   * holds keys.
   */
  heldKey: 7_267_110,
  /** Taken in SQL alone, by `open_day` of the migrations: one session makes the partitions of a day. */
  openDay: 7_267_105,
  /** One node clears away the deliveries of deleted webhooks. */
  clearing: 7_267_106,
  /** With the number of a worker, held as long as it lives. */
  workerLife: 7_267_107,
  /**
   * With the hash of a source and its site: a transaction that begins a snapshot has it alone, those that
   * remove what one lacks share it.
   */
  snapshots: 7_267_108,
  /**
   * Taken in SQL alone, by `next_event_id` of the migrations, shared: the transaction has published something
   * and has not ended.
   */
  publishers: 7_267_109,
  /** One node drops a day. */
  retention: 7_267_123,
  /** With the hash of a site's name: one changes which brand is in force there. */
  brands: 7_267_122,
} as const
