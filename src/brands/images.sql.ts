import { statement } from '../database/database.ts'

/** What is stored once more is as new as if it were the first time: nobody clears it away meanwhile. */
export const insertImage = statement(
  'insert_image',
  `INSERT INTO images (hash, type, width, height, bytes, stored_at) VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (hash) DO UPDATE SET stored_at = excluded.stored_at`,
)

export const selectImage = statement('select_image', 'SELECT type, bytes FROM images WHERE hash = $1')

/** A brand's, or an application's that an operator has accepted: what else is stored is not for everybody. */
export const selectShownImage = statement(
  'select_shown_image',
  `SELECT type, bytes FROM images WHERE hash = $1 AND (
     EXISTS (SELECT FROM brands b WHERE $1 IN (b.logo_light, b.logo_dark, b.favicon))
     OR EXISTS (SELECT FROM client_looks l WHERE l.logo = $1 AND l.state = 'shown'))`,
)

/** What nobody shows: a draft's that was replaced, an application's that was declined. */
export const deleteUnusedImages = statement(
  'delete_unused_images',
  `DELETE FROM images i WHERE i.hash = ANY (ARRAY(
     SELECT u.hash FROM images u WHERE u.stored_at <= $1
       AND NOT EXISTS (SELECT FROM brands b WHERE u.hash IN (b.logo_light, b.logo_dark, b.favicon))
       AND NOT EXISTS (SELECT FROM client_looks l WHERE l.logo = u.hash)
     LIMIT $2)) AND i.stored_at <= $1 RETURNING i.hash`,
)
