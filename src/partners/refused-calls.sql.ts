import { bool, instant, int, jsonText, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

/** All of them in one text. Calls of clients that do not exist belong to no partner and are left out. */
export const insertRefusedCalls = statement({
  name: 'insert_refused_calls',
  takes: { calls: jsonText },
  gives: { branchId: int, environment: oneOf(...environments), claimed: bool },
  text: `INSERT INTO refused_calls (branch_id, environment, claimed, client_id, at, method, route, status,
     code, description, sent, request_id, caller)
   SELECT coalesce(call."branchId", c.branch_id), call.environment, call."isClaimed", call."clientId",
     call.at, call.method, call.route, call.status, call.code, call.description, call.sent,
     call."requestId", call.caller
   FROM json_to_recordset(:calls) AS call ("branchId" integer, environment text, "isClaimed" boolean,
     "clientId" text, at timestamptz, method text, route text, status integer, code text,
     description text, sent text, "requestId" text, caller text)
   LEFT JOIN clients c ON c.id = call."clientId" AND c.environment = call.environment
   WHERE coalesce(call."branchId", c.branch_id) IS NOT NULL
   RETURNING branch_id AS "branchId", environment, claimed`,
})

/** All but the newest of one ring, each caller's newest first. */
export const trimRefusedCalls = statement({
  name: 'trim_refused_calls',
  takes: { branchId: int, environment: text, claimed: bool, kept: int },
  text: `DELETE FROM refused_calls WHERE id = ANY (ARRAY(
     SELECT id FROM refused_calls
     WHERE branch_id = :branchId AND environment = :environment AND claimed = :claimed
     ORDER BY row_number() OVER (PARTITION BY caller ORDER BY id DESC), id DESC OFFSET :kept))`,
})

export const selectRefusedCalls = statement({
  name: 'select_refused_calls',
  takes: { branchId: int, environment: text, most: int },
  gives: {
    id: int,
    isClaimed: bool,
    clientId: orNull(text),
    at: instant,
    method: text,
    route: text,
    status: int,
    code: text,
    description: text,
    sent: text,
    requestId: text,
  },
  text: `SELECT id, claimed AS "isClaimed", client_id AS "clientId", at, method, route, status, code,
     description, sent, request_id AS "requestId"
   FROM refused_calls
   WHERE branch_id = :branchId AND environment = :environment ORDER BY id DESC LIMIT :most`,
})

/** Of the newest so many, of all partners. */
export const countRefusedCalls = statement({
  name: 'count_refused_calls',
  takes: { since: instant, lookedAt: int },
  gives: { calls: int, partners: int },
  text: `SELECT count(*) AS calls, count(DISTINCT branch_id) AS partners
   FROM (SELECT branch_id, at FROM refused_calls ORDER BY id DESC LIMIT :lookedAt) newest
   WHERE at >= :since`,
})
