import { bytes, instant, int, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { imageTypes } from '../vocabulary/brand.ts'

/** An image stored once more is as new as if it were the first time: no round clears it away meanwhile. */
export const insertImage = statement({
  name: 'insert_image',
  takes: { hash: text, type: text, width: int, height: int, bytes, storedAt: instant },
  text: `INSERT INTO images (hash, type, width, height, bytes, stored_at)
   VALUES (:hash, :type, :width, :height, :bytes, :storedAt)
   ON CONFLICT (hash) DO UPDATE SET stored_at = excluded.stored_at`,
})

const row = { type: oneOf(...imageTypes), bytes }

export const selectImage = statement({
  name: 'select_image',
  takes: { hash: text },
  gives: row,
  text: 'SELECT type, bytes FROM images WHERE hash = :hash',
})

/** A brand's, or an application's that an operator has accepted: no other stored image is public. */
export const selectShownImage = statement({
  name: 'select_shown_image',
  takes: { hash: text },
  gives: row,
  text: `SELECT type, bytes FROM images WHERE hash = :hash AND (
     EXISTS (SELECT FROM brands b WHERE :hash IN (b.logo_light, b.logo_dark, b.favicon))
     OR EXISTS (SELECT FROM client_looks l WHERE l.logo = :hash AND l.state = 'shown'))`,
})

/** Images that no page shows: a draft's that was replaced, an application's that was declined. */
export const deleteUnusedImages = statement({
  name: 'delete_unused_images',
  takes: { until: instant, most: int },
  gives: { hash: text },
  text: `DELETE FROM images i WHERE i.hash = ANY (ARRAY(
     SELECT u.hash FROM images u WHERE u.stored_at <= :until
       AND NOT EXISTS (SELECT FROM brands b WHERE u.hash IN (b.logo_light, b.logo_dark, b.favicon))
       AND NOT EXISTS (SELECT FROM client_looks l WHERE l.logo = u.hash)
     LIMIT :most)) AND i.stored_at <= :until RETURNING i.hash`,
})
