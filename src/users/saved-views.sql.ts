import { int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const selectViews = statement({
  name: 'select_saved_views',
  takes: { userId: text, environment: text },
  gives: { path: text, name: text, query: text },
  text: `SELECT path, name, query FROM saved_views WHERE user_id = :userId AND environment = :environment
   ORDER BY path, lower(name), name`,
})

/** Those who save at once do it one after the other. */
export const lockOwner = statement({
  name: 'lock_owner_of_views',
  takes: { userId: text },
  text: 'SELECT id FROM users WHERE id = :userId FOR NO KEY UPDATE',
})

/** At the place that the name has, or at the first that is free; nothing where there is none. */
export const saveView = statement({
  name: 'save_view',
  takes: { userId: text, environment: text, path: text, name: text, query: text, most: int },
  gives: { name: text },
  text: `INSERT INTO saved_views (user_id, environment, path, place, name, query)
   SELECT :userId, :environment, :path, min(place), :name, :query FROM generate_series(1, :most::int) place
   WHERE NOT EXISTS (SELECT FROM saved_views v WHERE v.user_id = :userId AND v.environment = :environment
     AND v.path = :path AND v.place = place.place AND v.name <> :name)
   HAVING min(place) IS NOT NULL
   ON CONFLICT (user_id, environment, path, name) DO UPDATE SET query = excluded.query
   RETURNING name`,
})

export const deleteView = statement({
  name: 'delete_view',
  takes: { userId: text, environment: text, path: text, name: text },
  gives: { query: text },
  text: `DELETE FROM saved_views
   WHERE user_id = :userId AND environment = :environment AND path = :path AND name = :name
   RETURNING query`,
})
