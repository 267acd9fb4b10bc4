import { instant, int, list, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

const takes = { ids: list(int), listed: int, now: instant }

/** One notice for each person: of the alert, or of all of them where there are several for that person. */
const tell = (reader: 'partner' | 'staff', people: string, notice: string, environment: string) => `
   WITH told AS MATERIALIZED (
     SELECT u.id AS user_id, u.email, a.id, a.kind, a.key || coalesce(':' || t.environment, '') AS key, a.facts,
       ${notice} AS notice, ${environment} AS environment,
       row_number() OVER (PARTITION BY u.id ORDER BY a.id) AS place, count(*) OVER (PARTITION BY u.id) AS total
     FROM alerts a JOIN alert_targets t ON t.id = a.target_id
     ${people} AND u.status = 'active' AND u.email IS NOT NULL
     WHERE a.id = ANY (:ids::bigint[]) AND NOT ${notice} = ANY (u.declined_notices))
   INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
   SELECT user_id, email, notice, format('%s:%s:%s', notice, key, user_id),
     ${reader === 'staff' ? `jsonb_build_object('kind', kind, 'facts', facts)` : 'facts'}, :now::timestamptz,
     :now::timestamptz
   FROM told WHERE total = 1
   UNION ALL
   SELECT user_id, email, 'alerts', format('alerts:%s:%s', max(id), user_id), jsonb_build_object(
       'reader', '${reader}', 'environment', environment, 'more', greatest(total - :listed, 0),
       'alerts', jsonb_agg(jsonb_build_object('kind', kind, 'facts', facts) ORDER BY id)
         FILTER (WHERE place <= :listed)), :now, :now
   FROM told WHERE total > 1 GROUP BY user_id, email, environment, total
   ON CONFLICT (key) DO NOTHING RETURNING id`

export const tellMembers = statement({
  name: 'tell_members_of_alerts',
  takes,
  gives: { id: int },
  text: tell(
    'partner',
    'JOIN partner_members m ON m.branch_id = t.branch_id JOIN users u ON u.id = m.user_id',
    `CASE a.kind WHEN 'expiring' THEN 'secret-expiring' ELSE 'webhook-' || a.kind END`,
    't.environment',
  ),
})

export const tellOperators = statement({
  name: 'tell_operators_of_alerts',
  takes: { ...takes, audience: list(text) },
  gives: { id: int },
  text: tell(
    'staff',
    `JOIN users u ON u.role = 'operator' AND EXISTS (SELECT FROM staff_roles r WHERE r.user_id = u.id
       AND a.kind || ':' || r.role = ANY (:audience::text[]))`,
    `'operations'`,
    `'live'`,
  ),
})
