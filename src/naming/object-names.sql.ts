import { int, list, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** One transaction at a time declares what has this name, whether or not there is something yet. */
export const lockName = statement({
  name: 'lock_object_name',
  takes: { kind: text, site: text, name: text },
  text: `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'object', :kind::text, :site::text,
     :name::text), 0))`,
})

const row = { name: text, objectId: text, owner: orNull(text) }
const columns = 'name, object_id AS "objectId", owner'

export const selectNamed = statement({
  name: 'select_object_named',
  takes: { kind: text, site: text, name: text },
  gives: row,
  text: `SELECT ${columns} FROM object_names WHERE kind = :kind AND site = :site AND name = :name`,
})

export const selectNames = statement({
  name: 'select_object_names',
  takes: { kind: text, site: text, after: text, owner: orNull(text), most: int },
  gives: row,
  text: `SELECT ${columns} FROM object_names WHERE kind = :kind AND site = :site AND name > :after
     AND (:owner::text IS NULL OR owner = :owner)
   ORDER BY name LIMIT :most`,
})

export const updateName = statement({
  name: 'update_object_name',
  takes: { kind: text, objectId: text, name: text, owner: orNull(text) },
  text: `UPDATE object_names SET name = :name, owner = :owner
   WHERE kind = :kind AND object_id = :objectId`,
})

export const selectNamesOf = statement({
  name: 'select_names_of_objects',
  takes: { kind: text, ids: list(text) },
  gives: { name: text, objectId: text },
  text: `SELECT name, object_id AS "objectId" FROM object_names
   WHERE kind = :kind AND object_id = ANY (:ids::text[])`,
})
