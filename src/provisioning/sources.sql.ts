import { statement } from '../database/database.ts'

const named = `SELECT s.name AS source, s.environment, s.heard_at AS "heardAt",
     ARRAY(SELECT r.role FROM source_roles r WHERE r.source = s.name ORDER BY r.role) AS roles
   FROM sources s`

export const selectNamedSources = statement('select_named_sources', `${named} ORDER BY s.name`)

export const selectSource = statement('select_source', `${named} WHERE s.name = $1`)

export const createSource = statement('create_source', 'SELECT create_source($1, $2, $3, $4) AS created')

export const setSourceRole = statement('set_source_role', 'SELECT set_source_role($1, $2, $3, $4, $5) AS set')
