import {
  bool,
  float,
  instant,
  int,
  jsonText,
  list,
  moment,
  oneOf,
  orNull,
  text,
  word,
} from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import type { FailureCause } from './failure-causes.ts'
import type { UnmetDemand } from './proof-causes.ts'

/** All of them in one text, which stand in the log in the order of the text. Calls of clients that do not exist belong to no partner and are left out. */
export const insertCalls = statement({
  name: 'insert_calls',
  takes: { calls: jsonText, slot: int },
  text: `INSERT INTO calls (slot, branch_id, environment, claimed, client_id, at, method, route, status,
     duration_ms, request_id, code, cause, fields, unmet, left_out)
   SELECT :slot, owner.branch_id, call.environment, call."isClaimed",
     call."clientId", call.at, call.method, call.route, call.status, call."durationMs", call."requestId",
     call.code, call.cause, call.fields, call.unmet, call."leftOut"
   FROM json_to_recordset(:calls) AS call ("branchId" integer, environment text, "isClaimed" boolean,
     "clientId" text, at timestamptz, method text, route text, status smallint, "durationMs" real,
     "requestId" text, code text, cause text, fields text[], unmet text[], "leftOut" integer)
   CROSS JOIN LATERAL (SELECT coalesce(call."branchId", (SELECT c.branch_id FROM clients c
     WHERE c.id = call."clientId" AND c.environment = call.environment)) AS branch_id OFFSET 0) owner
   WHERE owner.branch_id IS NOT NULL`,
})

export const emptyCalls = statement({
  name: 'empty_calls',
  takes: { slot: int },
  text: 'SELECT empty_calls(:slot)',
})

const gives = {
  id: int,
  branchId: int,
  environment: oneOf(...environments),
  isClaimed: bool,
  clientId: orNull(text),
  at: instant,
  method: text,
  route: text,
  status: int,
  durationMs: float,
  requestId: text,
  code: orNull(text),
  cause: orNull(word<FailureCause>()),
  fields: list(text),
  unmet: orNull(list(word<UnmetDemand>())),
  leftOut: int,
}

const columns = `id, branch_id AS "branchId", environment, claimed AS "isClaimed", client_id AS "clientId", at,
     method, route, status, duration_ms AS "durationMs", request_id AS "requestId", code, cause, fields,
     unmet, left_out AS "leftOut"`

const takes = {
  branchId: int,
  environment: oneOf(...environments),
  since: instant,
  beforeAt: moment,
  beforeId: int,
  clientId: orNull(text),
  method: orNull(text),
  route: orNull(text),
  statusFrom: int,
  statusTo: int,
  most: int,
}

/** Newest first. One text for each index: a plan is chosen once, whatever is looked for. */
const selection = (only: string) => `SELECT ${columns} FROM calls
   WHERE branch_id = :branchId AND environment = :environment AND at > :since ${only}
     AND (at, id) < (:beforeAt, :beforeId)
     AND (:clientId::text IS NULL OR client_id = :clientId)
     AND (:method::text IS NULL OR method = :method)
     AND (:route::text IS NULL OR starts_with(route, :route))
     AND status BETWEEN :statusFrom AND :statusTo
   ORDER BY at DESC, id DESC LIMIT :most`

export const selectCalls = statement({ name: 'select_calls', takes, gives, text: selection('') })

export const selectFailedCalls = statement({
  name: 'select_failed_calls',
  takes,
  gives,
  text: selection('AND code IS NOT NULL'),
})

export const selectUnmetCalls = statement({
  name: 'select_unmet_calls',
  takes: { ...takes, onlyFailed: bool },
  gives,
  text: selection('AND unmet IS NOT NULL AND (NOT :onlyFailed OR code IS NOT NULL)'),
})

/** By the demand; the most frequent first. */
export const countUnmet = statement({
  name: 'count_unmet_demands',
  takes: { branchId: int, environment: oneOf(...environments), clientId: text, since: instant },
  gives: { demand: word<UnmetDemand>(), calls: int, lastAt: instant },
  text: `SELECT demand, count(*) AS calls, max(at) AS "lastAt"
   FROM calls CROSS JOIN unnest(unmet) AS demand
   WHERE branch_id = :branchId AND environment = :environment AND at > :since AND unmet IS NOT NULL
     AND client_id = :clientId
   GROUP BY demand ORDER BY calls DESC, demand`,
})

export const selectCall = statement({
  name: 'select_call',
  takes: { branchId: int, id: int, since: instant },
  gives,
  text: `SELECT ${columns} FROM calls WHERE id = :id AND branch_id = :branchId AND at > :since`,
})

/** Callers choose their requests' ids: of one id there may be many, of several partners. */
export const selectCallsByRequest = statement({
  name: 'select_calls_by_request',
  takes: {
    requestId: text,
    branchId: orNull(int),
    environment: orNull(oneOf(...environments)),
    since: instant,
    most: int,
  },
  gives,
  text: `SELECT ${columns} FROM calls
   WHERE request_id = :requestId AND at > :since AND (:branchId::int IS NULL OR branch_id = :branchId)
     AND (:environment::text IS NULL OR environment = :environment)
   ORDER BY at DESC LIMIT :most`,
})

/** Of the newest so many, of all partners; with those that have no line of their own. */
export const countFailedCalls = statement({
  name: 'count_failed_calls',
  takes: { since: instant, lookedAt: int },
  gives: { calls: int, partners: int },
  text: `SELECT coalesce(sum(1 + left_out), 0)::bigint AS calls, count(DISTINCT branch_id) AS partners
   FROM (SELECT branch_id, left_out FROM calls WHERE code IS NOT NULL AND at >= :since
     ORDER BY at DESC LIMIT :lookedAt) newest`,
})
