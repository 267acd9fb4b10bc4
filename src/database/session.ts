/**
 * What every session of the gateway relies on, said by the session itself: a role or a database may have
 * defaults of its own (ALTER ROLE … SET), and they are for others. Sent as a statement: poolers of sessions
 * refuse settings that come with a connection's start, but for `client_encoding` and `application_name`,
 * which `pg` sends with it.
 */
import { statementLimitMs } from './statement-limit.ts'

export interface SessionLimits {
  /** How long a statement may take, here and on the server; without it, as long as it likes. */
  readonly answerTimeoutMs?: number | undefined
  /** How long a transaction may stand still before the server ends it. */
  readonly stillTimeoutMs?: number | undefined
  /** Nothing can be written by it. */
  readonly isReadOnly?: boolean
}

/** The limit of a statement. */
const ofStatements = 'statement_timeout'

/** Settings that a server of an older release does not know are left out there. */
export function sessionSettings({
  answerTimeoutMs = 0,
  stillTimeoutMs = Math.max(statementLimitMs, answerTimeoutMs),
  isReadOnly = false,
}: SessionLimits): ReadonlyMap<string, string> {
  return new Map([
    // No client waits for what takes longer: the server ends it a little before its client gives up.
    [ofStatements, `${Math.ceil(0.9 * answerTimeoutMs)}`],
    ['idle_in_transaction_session_timeout', `${stillTimeoutMs}`],
    // A transaction that limits its wait for a lock sets so itself. Connections of the pool rest, and those
    // that listen do nothing else.
    ['lock_timeout', '0'],
    ['transaction_timeout', '0'],
    ['idle_session_timeout', '0'],

    ['search_path', 'public, pg_temp'],
    // Locking first and looking in the next statement needs READ COMMITTED: that statement sees what the lock
    // was waited for.
    ['default_transaction_isolation', 'read committed'],
    ['default_transaction_read_only', isReadOnly ? 'on' : 'off'],
    ['default_transaction_deferrable', 'off'],
    // A statement that is refused is an answer, and the session goes on.
    ['exit_on_error', 'off'],
    // Triggers tell by notices what a statement has changed.
    ['client_min_messages', 'notice'],

    // How values are written, both ways.
    ['TimeZone', 'UTC'],
    ['DateStyle', 'ISO, MDY'],
    ['IntervalStyle', 'postgres'],
    ['bytea_output', 'hex'],
    ['extra_float_digits', '1'],
    ['array_nulls', 'on'],
    ['standard_conforming_strings', 'on'],
    // Above zero, a search by name finds some of the names.
    ['gin_fuzzy_search_limit', '0'],

    // Every statement finds its rows by an index, and its plan is made once a connection. Left alone, a plan
    // made while a table was small reads the whole table until it is analysed, by when it may have grown a
    // thousandfold (decision 0009).
    ['plan_cache_mode', 'force_generic_plan'],
    ['enable_seqscan', 'off'],
    ['enable_mergejoin', 'off'],
    ['enable_indexscan', 'on'],
    ['enable_indexonlyscan', 'on'],
    ['enable_bitmapscan', 'on'],
    ['enable_tidscan', 'on'],
    ['enable_partition_pruning', 'on'],
    ['enable_nestloop', 'on'],
    ['enable_hashjoin', 'on'],
    ['enable_hashagg', 'on'],
    ['enable_sort', 'on'],
    // Before PostgreSQL 18 a plan that cannot do without what is off is believed to be dear, and would be
    // compiled each time that it runs.
    ['jit', 'off'],

    // What a function of a part asks on the way is of the same part. Timeouts that a transaction sets for
    // itself reach the worker.
    ['citus.allow_nested_distributed_execution', 'on'],
    ['citus.propagate_set_commands', 'local'],

    // A node that vanished without a word must not hold its locks: the server finds out in seconds, not in
    // hours.
    ['tcp_user_timeout', '5s'],
    ['tcp_keepalives_idle', '5'],
    ['tcp_keepalives_interval', '2'],
    ['tcp_keepalives_count', '3'],
  ])
}

/**
 * The limit of a statement goes first, by itself: whatever the default is, that much it allows. Citus finds
 * the shard of a statement by its values: a plan without them is none there.
 */
export function printSession(limits: SessionLimits): string {
  const settings = sessionSettings(limits)
  const others = [...settings].filter(([name]) => name !== ofStatements)
  const values = others.map(([name, value]) => `('${name}', '${value}')`)
  return `SET ${ofStatements} = ${settings.get(ofStatements)};
    SELECT set_config(name, value, false) FROM (VALUES ${values.join(', ')}) AS wanted (name, value)
      WHERE current_setting(name, true) IS NOT NULL;
    SELECT set_config('plan_cache_mode', 'auto', false)
      WHERE EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`
}
