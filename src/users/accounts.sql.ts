import { bool, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'
import { holdingRoles } from './holding.ts'

/** The account and the owner's holding of it. */
export const insertAccount = statement({
  name: 'insert_account',
  takes: {
    accountNumber: text,
    userId: text,
    environment: text,
    classification: text,
    now: instant,
    dayTrader: bool,
    optionLevel: int,
    type: text,
    scopes: list(text),
  },
  text: `WITH opened AS (
     INSERT INTO accounts (account_number, environment, classification, date_created, day_trader,
       option_level, type, last_update_date)
     VALUES (:accountNumber, :environment, :classification, :now, :dayTrader, :optionLevel, :type, :now)
     RETURNING account_number)
   INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
   SELECT :userId, account_number, 'owner', :scopes, :now, :now FROM opened`,
})

const accountColumns = `a.account_number AS "accountNumber", a.environment, a.classification,
  a.date_created AS "dateCreated",
   a.day_trader AS "dayTrader", a.option_level AS "optionLevel", a.status, a.type,
     a.last_update_date AS "lastUpdateDate"`

const accountRow = {
  accountNumber: text,
  environment: oneOf(...environments),
  classification: text,
  dateCreated: instant,
  dayTrader: bool,
  optionLevel: int,
  status: oneOf('active', 'closed'),
  type: oneOf('cash', 'margin'),
  lastUpdateDate: instant,
}

const held = `FROM holdings h JOIN accounts a USING (account_number)
   WHERE h.user_id = :userId AND h.status = 'active' AND a.environment = :environment
     AND a.removed_at IS NULL`

export const selectAccounts = statement({
  name: 'select_accounts',
  takes: { userId: text, environment: text },
  gives: accountRow,
  text: `SELECT ${accountColumns} ${held} ORDER BY a.date_created, a.account_number`,
})

/** Those that can be shared, with whose they are. */
export const selectOpenAccounts = statement({
  name: 'select_open_accounts',
  takes: { userId: text, environment: text },
  gives: {
    ...accountRow,
    role: oneOf(...holdingRoles),
    scopes: list(oneOf(...scopes)),
    owners: list(text),
    heldSince: instant,
  },
  text: `SELECT ${accountColumns}, h.role, h.scopes, h.created_at AS "heldSince",
          ARRAY(SELECT u.name FROM holdings o JOIN users u ON u.id = o.user_id
                WHERE o.account_number = a.account_number AND o.role IN ('owner', 'joint')
                  AND o.status = 'active' AND o.user_id <> h.user_id
                ORDER BY u.name) AS owners
   ${held} AND a.status = 'active' ORDER BY a.date_created, a.account_number`,
})

/** How each account is held, for operators who look at the person: suspended ones too. */
export const selectHoldings = statement({
  name: 'select_holdings',
  takes: { userId: text },
  gives: {
    ...accountRow,
    role: oneOf(...holdingRoles),
    scopes: list(oneOf(...scopes)),
    holdingStatus: oneOf('active', 'suspended'),
    source: orNull(text),
    externalId: orNull(text),
  },
  text: `SELECT ${accountColumns}, h.role, h.scopes, h.status AS "holdingStatus", a.source,
    a.external_id AS "externalId"
   FROM holdings h JOIN accounts a USING (account_number) WHERE h.user_id = :userId AND h.status <> 'removed'
     ORDER BY a.environment, a.date_created, a.account_number`,
})

export const upsertHolding = statement({
  name: 'upsert_holding',
  takes: { userId: text, accountNumber: text, role: text, scopes: list(text), now: instant },
  text: `INSERT INTO holdings AS h (user_id, account_number, role, scopes, created_at, updated_at)
    VALUES (:userId, :accountNumber, :role, :scopes, :now, :now)
   ON CONFLICT (user_id, account_number) DO UPDATE SET role = excluded.role, scopes = excluded.scopes,
     status = 'active', updated_at = excluded.updated_at`,
})

/** Takes what was held out of every authorization of this person. */
export const endHolding = statement({
  name: 'end_holding',
  takes: { userId: text, accountNumber: text, now: instant, reason: text, actor: text },
  gives: { narrowed: int },
  text: `WITH gone AS (UPDATE holdings SET status = 'removed', updated_at = :now
    WHERE user_id = :userId AND account_number = :accountNumber AND status <> 'removed'
     RETURNING user_id, account_number)
   SELECT narrow_authorizations(array_agg(user_id), array_agg(account_number), :reason, :actor, :now)
     AS narrowed FROM gone HAVING count(*) > 0`,
})
