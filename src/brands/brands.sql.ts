import { instant, int, json, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { StoredPicture } from '../vocabulary/brand.ts'
import { environments } from '../vocabulary/environment.ts'

const picture = (column: string) =>
  `(SELECT json_build_object('hash', i.hash, 'type', i.type, 'width', i.width, 'height', i.height)
    FROM images i WHERE i.hash = brands.${column})`

const columns = `brands.id, brands.environment, brands.state, brands.version,
  brands.short_name AS "shortName", brands.legal_name AS "legalName",
  ${picture('logo_light')} AS "logoLight", ${picture('logo_dark')} AS "logoDark",
    ${picture('favicon')} AS favicon,
  brands.accent_light AS "accentLight", brands.accent_dark AS "accentDark",
  brands.background_light AS "backgroundLight", brands.background_dark AS "backgroundDark",
  brands.help_url AS "helpUrl", brands.privacy_url AS "privacyUrl", brands.terms_url AS "termsUrl",
  brands.security_contact AS "securityContact", brands.phone,
  brands.mail_sender AS "mailSender", brands.mail_reply_to AS "mailReplyTo",
    brands.mail_footer AS "mailFooter",
  brands.changed_at AS "changedAt", brands.activated_at AS "activatedAt"`

/** As they are typed. */
const words = {
  shortName: text,
  legalName: text,
  accentLight: text,
  accentDark: text,
  backgroundLight: text,
  backgroundDark: text,
  helpUrl: orNull(text),
  privacyUrl: orNull(text),
  termsUrl: orNull(text),
  securityContact: orNull(text),
  phone: orNull(text),
  mailSender: orNull(text),
  mailReplyTo: orNull(text),
  mailFooter: orNull(text),
}

const row = {
  id: int,
  environment: oneOf(...environments),
  state: oneOf('draft', 'active', 'earlier'),
  version: int,
  ...words,
  logoLight: orNull(json<StoredPicture>()),
  logoDark: orNull(json<StoredPicture>()),
  favicon: orNull(json<StoredPicture>()),
  changedAt: instant,
  activatedAt: orNull(instant),
}

export const selectActiveBrand = statement({
  name: 'select_active_brand',
  takes: { environment: text },
  gives: row,
  text: `SELECT ${columns} FROM brands WHERE environment = :environment AND state = 'active'`,
})

/** The draft and the one in force, and the latest of those that were. */
export const selectBrands = statement({
  name: 'select_brands',
  takes: { environment: text, most: int },
  gives: row,
  text: `SELECT ${columns} FROM brands WHERE environment = :environment
    ORDER BY (state = 'earlier'), activated_at DESC NULLS FIRST, id DESC LIMIT :most`,
})

/** One at a time changes what a site is called. */
export const lockBrands = statement({
  name: 'lock_brands',
  takes: { lock: int, environment: text },
  text: 'SELECT pg_advisory_xact_lock(:lock, hashtext(:environment))',
})

const wordColumns = `short_name, legal_name, accent_light, accent_dark, background_light, background_dark,
  help_url, privacy_url, terms_url, security_contact, phone, mail_sender, mail_reply_to, mail_footer`

/** In the same order. */
const wordValues = `:shortName, :legalName, :accentLight, :accentDark, :backgroundLight, :backgroundDark,
  :helpUrl, :privacyUrl, :termsUrl, :securityContact, :phone, :mailSender, :mailReplyTo, :mailFooter`

/** With the images of the one that it is made from. */
export const insertDraft = statement({
  name: 'insert_brand_draft',
  takes: { environment: text, now: instant, ...words },
  gives: row,
  text: `INSERT INTO brands (environment, state, changed_at, ${wordColumns}, logo_light, logo_dark, favicon)
   SELECT :environment, 'draft', :now, ${wordValues}, base.logo_light, base.logo_dark, base.favicon
   FROM (SELECT) AS one LEFT JOIN brands AS base ON base.environment = :environment AND base.state = 'active'
     RETURNING ${columns}`,
})

export const updateDraft = statement({
  name: 'update_brand_draft',
  takes: { environment: text, now: instant, ...words },
  gives: row,
  text: `UPDATE brands SET changed_at = :now, version = version + 1, (${wordColumns}) = ROW (${wordValues})
   WHERE environment = :environment AND state = 'draft' RETURNING ${columns}`,
})

/** Of these three names alone. */
const imageColumns = { logoLight: 'logo_light', logoDark: 'logo_dark', favicon: 'favicon' } as const

export const updateDraftImage = {
  logoLight: updateImage('logoLight'),
  logoDark: updateImage('logoDark'),
  favicon: updateImage('favicon'),
}

function updateImage(place: keyof typeof imageColumns) {
  return statement({
    name: `update_brand_${imageColumns[place]}`,
    takes: { environment: text, now: instant, hash: orNull(text) },
    text: `UPDATE brands SET ${imageColumns[place]} = :hash, changed_at = :now, version = version + 1
     WHERE environment = :environment AND state = 'draft' RETURNING id`,
  })
}

export const retireActive = statement({
  name: 'retire_active_brand',
  takes: { environment: text },
  gives: { id: int },
  text: `UPDATE brands SET state = 'earlier' WHERE environment = :environment AND state = 'active'
   RETURNING id`,
})

export const activateBrand = statement({
  name: 'activate_brand',
  takes: { id: int, activatedAt: instant },
  text: `UPDATE brands SET state = 'active', activated_at = :activatedAt WHERE id = :id RETURNING ${columns}`,
})

export const deleteDraft = statement({
  name: 'delete_brand_draft',
  takes: { environment: text },
  text: `DELETE FROM brands WHERE environment = :environment AND state = 'draft' RETURNING id`,
})
