import { bool, instant, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

/** While the source has said nothing of them: whatever it says has a version. */
export const linkUser = statement({
  name: 'link_user_to_source',
  takes: { id: text, source: text, externalId: text, updatedAt: instant },
  gives: { id: text },
  text: `UPDATE users SET source = :source, external_id = :externalId, updated_at = :updatedAt
   WHERE id = :id AND version IS NULL RETURNING id`,
})

export const lockAccount = statement({
  name: 'lock_account_to_link',
  takes: { accountNumber: text },
  gives: { environment: oneOf(...environments), isKnown: bool },
  text: `SELECT environment, version IS NOT NULL AS "isKnown" FROM accounts
   WHERE account_number = :accountNumber FOR NO KEY UPDATE`,
})

export const linkAccount = statement({
  name: 'link_account_to_source',
  takes: { accountNumber: text, source: text, externalId: text },
  text: `UPDATE accounts SET source = :source, external_id = :externalId
   WHERE account_number = :accountNumber`,
})
