/** Where a user's notices go, and how they get a password. */
import type { Mail } from '../../../users/email.ts'
import { askFirst } from '../../frame/ask.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { emptyDraft, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'

interface MailPart {
  readonly home: string
  readonly csrf: string
  readonly isSelf: boolean
  readonly mayAct: boolean
}

export function printMail({ home, csrf, isSelf, mayAct }: MailPart, mail: Mail | undefined): Html {
  const email = mail?.email ?? null
  const field = {
    name: 'email',
    label: 'New address',
    more: html`type="email" required maxlength="${fieldLengths['/console/users/:id/email'].email}"
      autocomplete="off"`,
  }
  return html`<section class="card"><h2>E-mail and password</h2>
<p>${
    email === null
      ? 'No address: no notices come, and no password can be reset.'
      : html`Notices and links go
  to <strong class="address">${email}</strong>.`
  }</p>
${mayAct && askFirst({ action: `${home}/email`, csrf, label: 'Change e-mail', text: 'Make sure first that it is theirs. The address of before is told.', more: textField(emptyDraft, field), why: true })}
${mayAct && !isSelf && email !== null && askFirst({ action: `${home}/reset`, csrf, label: 'Send a password reset', text: 'They get a link by e-mail that works once, for an hour. Until they use it, nothing changes.', why: true })}</section>`
}
