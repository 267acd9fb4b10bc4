import { statement } from '../database/database.ts'

/** Calls of clients that do not exist belong to nobody and are left out. */
export const insertRefusedCalls = statement(
  'insert_refused_calls',
  `INSERT INTO refused_calls (branch_id, environment, claimed, client_id, at, method, route, status, code, description, sent, request_id, caller)
   SELECT coalesce(call."branchId", c.branch_id), call.environment, call."isClaimed", call."clientId", call.at, call.method, call.route,
     call.status, call.code, call.description, call.sent, call."requestId", call.caller
   FROM json_to_recordset($1) AS call ("branchId" integer, environment text, "isClaimed" boolean, "clientId" text, at timestamptz, method text,
     route text, status integer, code text, description text, sent text, "requestId" text, caller text)
   LEFT JOIN clients c ON c.id = call."clientId" AND c.environment = call.environment
   WHERE coalesce(call."branchId", c.branch_id) IS NOT NULL
   RETURNING branch_id AS "branchId", environment, claimed`,
)

/** All but the newest of one ring, each caller's newest first. */
export const trimRefusedCalls = statement(
  'trim_refused_calls',
  `DELETE FROM refused_calls WHERE id = ANY (ARRAY(
     SELECT id FROM refused_calls WHERE branch_id = $1 AND environment = $2 AND claimed = $3
     ORDER BY row_number() OVER (PARTITION BY caller ORDER BY id DESC), id DESC OFFSET $4))`,
)

export const selectRefusedCalls = statement(
  'select_refused_calls',
  `SELECT id, claimed AS "isClaimed", client_id AS "clientId", at, method, route, status, code, description, sent, request_id AS "requestId" FROM refused_calls
   WHERE branch_id = $1 AND environment = $2 ORDER BY id DESC LIMIT $3`,
)

/** Of the newest so many, of all partners. */
export const countRefusedCalls = statement(
  'count_refused_calls',
  `SELECT count(*) AS calls, count(DISTINCT branch_id) AS partners
   FROM (SELECT branch_id, at FROM refused_calls ORDER BY id DESC LIMIT $2) newest WHERE at >= $1`,
)
