/** A form that makes something new counts once, however often it is sent: by a double click, by the back button, by a reload. */

import { after, day } from '../clock.ts'
import { randomLetters } from '../crypto/random.ts'
import { type Sql, statement } from '../database/database.ts'
import type { SubmittedForm } from './forms.ts'
import { type Html, html } from './html.ts'

/** Longer than any session lives. */
const keptMs = day

const insertSubmission = statement(
  'insert_submission',
  `WITH forgotten AS (DELETE FROM submissions WHERE created_at < $3)
   INSERT INTO submissions (id, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`,
)

export function onceField(): Html {
  return html`<input type="hidden" name="once" value="${randomLetters(22)}">`
}

/** True for the first of those who send the same form. */
export async function claimSubmission(sql: Sql, form: SubmittedForm, now: Date): Promise<boolean> {
  const id = form.find('once') ?? ''
  if (!/^[A-Za-z0-9]{22}$/.test(id)) return false
  return (await sql.query(insertSubmission, [id, now, after(now, -keptMs)])).length > 0
}
