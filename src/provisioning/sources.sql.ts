import { bool, instant, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

const named = `SELECT s.name AS source, s.environment, s.heard_at AS "heardAt",
     ARRAY(SELECT r.role FROM source_roles r WHERE r.source = s.name ORDER BY r.role) AS roles
   FROM sources s`

const row = {
  source: text,
  environment: oneOf(...environments),
  heardAt: orNull(instant),
  roles: list(text),
}

export const selectNamedSources = statement({
  name: 'select_named_sources',
  gives: row,
  text: `${named} ORDER BY s.name`,
})

export const selectSource = statement({
  name: 'select_source',
  takes: { name: text },
  gives: row,
  text: `${named} WHERE s.name = :name`,
})

export const selectSourcesByNames = statement({
  name: 'select_sources_by_names',
  takes: { names: list(text) },
  gives: row,
  text: `${named} WHERE s.name = ANY (:names::text[])`,
})

export const lockSource = statement({
  name: 'lock_source',
  takes: { name: text },
  gives: row,
  text: `${named} WHERE s.name = :name FOR NO KEY UPDATE OF s`,
})

/** Those of these that the database does not have. */
export const selectUnknownRoles = statement({
  name: 'select_unknown_roles',
  takes: { roles: list(text) },
  gives: { role: text },
  text: `SELECT role FROM unnest(:roles::text[]) AS role
   WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role)`,
})

export const selectSpeaking = statement({
  name: 'select_speaking_source',
  gives: { name: text },
  text: 'SELECT name FROM sources WHERE heard_at IS NOT NULL LIMIT 1',
})

export const createSource = statement({
  name: 'create_source',
  takes: { source: text, environment: text, actor: text, moment: instant },
  text: 'SELECT create_source(:source, :environment, :actor, :moment) AS created',
})

export const setSourceRole = statement({
  name: 'set_source_role',
  takes: { source: text, role: text, may: bool, actor: text, moment: instant },
  text: 'SELECT set_source_role(:source, :role, :may, :actor, :moment) AS set',
})
