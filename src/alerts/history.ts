/** The last alerts, as the page shows them. */
import type { Sql } from '../database/database.ts'
import type { RowOf } from '../database/statement.ts'
import { selectLastAlerts } from './alerts.sql.ts'
import type { AlertTarget } from './target.ts'

export type AlertRecord = RowOf<typeof selectLastAlerts>

export function listLastAlerts(
  sql: Sql,
  targets: readonly AlertTarget[],
  most: number,
): Promise<AlertRecord[]> {
  return sql.query(selectLastAlerts, { targetIds: targets.map(({ id }) => id), most })
}
