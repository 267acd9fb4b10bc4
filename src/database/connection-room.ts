/** How many more connections a server would take, and what keeps it from more. */
import { int } from './column.ts'
import type { Sql } from './database.ts'
import { statement } from './statement.ts'

const countConnections = statement({
  name: '',
  gives: {
    serverLimit: int,
    serverUse: int,
    ours: int,
    userLimit: int,
    userUse: int,
    databaseLimit: int,
    databaseUse: int,
  },
  text: `WITH clients AS (
     SELECT datname, usename, application_name FROM pg_stat_activity
     WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend')
   SELECT current_setting('max_connections')::integer -
     current_setting('superuser_reserved_connections')::integer
       - coalesce(current_setting('reserved_connections', true)::integer, 0) AS "serverLimit",
     (SELECT count(*) FROM clients) AS "serverUse",
     (SELECT count(*) FROM clients WHERE application_name = 'countersign') AS ours,
     CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END AS "userLimit",
     (SELECT count(*) FROM clients WHERE usename = current_user) AS "userUse",
     CASE WHEN rolsuper THEN -1 ELSE datconnlimit END AS "databaseLimit",
     (SELECT count(*) FROM clients WHERE datname = current_database()) AS "databaseUse"
   FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
})

interface ConnectionRoom {
  readonly serverLimit: number
  readonly serverUse: number
  readonly ours: number
  readonly free: number
  /** What to raise when that is too little. */
  readonly limit: string
}

export async function findConnectionRoom(sql: Sql): Promise<ConnectionRoom> {
  const { serverLimit, serverUse, ours, userLimit, userUse, databaseLimit, databaseUse } =
    await sql.one(countConnections)
  const limits: readonly (readonly [free: number, limit: string])[] = [
    [serverLimit - serverUse, 'max_connections'],
    ...(userLimit < 0 ? [] : [[userLimit - userUse, 'the connection limit of the user'] as const]),
    ...(databaseLimit < 0
      ? []
      : [[databaseLimit - databaseUse, 'the connection limit of the database'] as const]),
  ]
  const [free, limit] = limits.reduce((one, other) => (other[0] < one[0] ? other : one))
  return { serverLimit, serverUse, ours, free, limit }
}
