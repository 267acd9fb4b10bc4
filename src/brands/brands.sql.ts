import { statement } from '../database/database.ts'

const picture = (column: string) =>
  `(SELECT json_build_object('hash', i.hash, 'type', i.type, 'width', i.width, 'height', i.height) FROM images i WHERE i.hash = brands.${column})`

const columns = `brands.id, brands.environment, brands.state, brands.version, brands.short_name AS "shortName", brands.legal_name AS "legalName",
  ${picture('logo_light')} AS "logoLight", ${picture('logo_dark')} AS "logoDark", ${picture('favicon')} AS favicon,
  brands.accent_light AS "accentLight", brands.accent_dark AS "accentDark",
  brands.background_light AS "backgroundLight", brands.background_dark AS "backgroundDark",
  brands.help_url AS "helpUrl", brands.privacy_url AS "privacyUrl", brands.terms_url AS "termsUrl",
  brands.security_contact AS "securityContact", brands.phone,
  brands.mail_sender AS "mailSender", brands.mail_reply_to AS "mailReplyTo", brands.mail_footer AS "mailFooter",
  brands.changed_at AS "changedAt", brands.activated_at AS "activatedAt"`

export const selectActiveBrand = statement(
  'select_active_brand',
  `SELECT ${columns} FROM brands WHERE environment = $1 AND state = 'active'`,
)

/** The draft and the one in force, and the latest of those that were. */
export const selectBrands = statement(
  'select_brands',
  `SELECT ${columns} FROM brands WHERE environment = $1 ORDER BY (state = 'earlier'), activated_at DESC NULLS FIRST, id DESC LIMIT $2`,
)

/** One at a time changes what a site is called. */
export const lockBrands = statement('lock_brands', 'SELECT pg_advisory_xact_lock($1, hashtext($2))')

/** $3 on: what was typed, in the order of `typedColumns`. */
const typedColumns = `short_name, legal_name, accent_light, accent_dark, background_light, background_dark,
  help_url, privacy_url, terms_url, security_contact, phone, mail_sender, mail_reply_to, mail_footer`

/** With the images of the one that it is made from. */
export const insertDraft = statement(
  'insert_brand_draft',
  `INSERT INTO brands (environment, state, changed_at, ${typedColumns}, logo_light, logo_dark, favicon)
   SELECT $1, 'draft', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, base.logo_light, base.logo_dark, base.favicon
   FROM (SELECT) AS one LEFT JOIN brands AS base ON base.environment = $1 AND base.state = 'active' RETURNING ${columns}`,
)

export const updateDraft = statement(
  'update_brand_draft',
  `UPDATE brands SET changed_at = $2, version = version + 1,
     (${typedColumns}) = ROW ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
   WHERE environment = $1 AND state = 'draft' RETURNING ${columns}`,
)

/** Of these three names alone. */
const imageColumns = { logoLight: 'logo_light', logoDark: 'logo_dark', favicon: 'favicon' } as const

export const updateDraftImage = {
  logoLight: updateImage('logoLight'),
  logoDark: updateImage('logoDark'),
  favicon: updateImage('favicon'),
}

function updateImage(place: keyof typeof imageColumns) {
  return statement(
    `update_brand_${imageColumns[place]}`,
    `UPDATE brands SET ${imageColumns[place]} = $3, changed_at = $2, version = version + 1
     WHERE environment = $1 AND state = 'draft' RETURNING id`,
  )
}

export const retireActive = statement(
  'retire_active_brand',
  `UPDATE brands SET state = 'earlier' WHERE environment = $1 AND state = 'active' RETURNING id`,
)

export const activateBrand = statement(
  'activate_brand',
  `UPDATE brands SET state = 'active', activated_at = $2 WHERE id = $1 RETURNING ${columns}`,
)

export const deleteDraft = statement(
  'delete_brand_draft',
  `DELETE FROM brands WHERE environment = $1 AND state = 'draft' RETURNING id`,
)
