import { statement } from '../database/database.ts'

/** The account and the owner's holding of it. */
export const insertAccount = statement(
  'insert_account',
  `WITH opened AS (
     INSERT INTO accounts (account_number, environment, classification, date_created, day_trader, option_level, type, last_update_date)
     VALUES ($1, $3, $4, $5, $6, $7, $8, $5) RETURNING account_number)
   INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
   SELECT $2, account_number, 'owner', $9, $5, $5 FROM opened`,
)

const accountColumns = `a.account_number AS "accountNumber", a.environment, a.classification, a.date_created AS "dateCreated",
   a.day_trader AS "dayTrader", a.option_level AS "optionLevel", a.status, a.type, a.last_update_date AS "lastUpdateDate"`

const held = `FROM holdings h JOIN accounts a USING (account_number)
   WHERE h.user_id = $1 AND h.status = 'active' AND a.environment = $2 AND a.removed_at IS NULL`

export const selectAccounts = statement(
  'select_accounts',
  `SELECT ${accountColumns} ${held} ORDER BY a.date_created, a.account_number`,
)

/** Those that can be shared, with whose they are. */
export const selectOpenAccounts = statement(
  'select_open_accounts',
  `SELECT ${accountColumns}, h.role, h.scopes,
          ARRAY(SELECT u.name FROM holdings o JOIN users u ON u.id = o.user_id
                WHERE o.account_number = a.account_number AND o.role IN ('owner', 'joint') AND o.status = 'active' AND o.user_id <> h.user_id
                ORDER BY u.name) AS owners
   ${held} AND a.status = 'active' ORDER BY a.date_created, a.account_number`,
)

/** How each account is held, for those who look at the person: suspended ones too. */
export const selectHoldings = statement(
  'select_holdings',
  `SELECT ${accountColumns}, h.role, h.scopes, h.status AS "holdingStatus", a.source, a.external_id AS "externalId"
   FROM holdings h JOIN accounts a USING (account_number) WHERE h.user_id = $1 AND h.status <> 'removed' ORDER BY a.environment, a.date_created, a.account_number`,
)

export const upsertHolding = statement(
  'upsert_holding',
  `INSERT INTO holdings AS h (user_id, account_number, role, scopes, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
   ON CONFLICT (user_id, account_number) DO UPDATE SET role = excluded.role, scopes = excluded.scopes, status = 'active', updated_at = excluded.updated_at`,
)

/** Takes what was held out of every authorization of this person: $4 says why, $5 who did it. */
export const endHolding = statement(
  'end_holding',
  `WITH gone AS (UPDATE holdings SET status = 'removed', updated_at = $3 WHERE user_id = $1 AND account_number = $2 AND status <> 'removed'
     RETURNING user_id, account_number)
   SELECT leave_authorizations(array_agg(user_id), array_agg(account_number), $4, $5, $3) AS narrowed FROM gone HAVING count(*) > 0`,
)
