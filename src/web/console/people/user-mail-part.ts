/** Where a user's notices go, and how they get a password. */
import type { Mail } from '../../../users/email.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Operator } from '../../gates/gates.ts'
import * as forms from './forms.ts'

interface MailPart {
  readonly operator: Operator
  readonly isSelf: boolean
  readonly mayAct: boolean
}

export function printMail({ operator, isSelf, mayAct }: MailPart, mail: Mail | undefined): Html {
  const email = mail?.email ?? null
  const change = {
    label: 'Change e-mail',
    text: 'Make sure first that it is theirs. The address of before is told.',
  }
  const reset = {
    label: 'Send a password reset',
    text: 'They get a link by e-mail that works once, for an hour. Until they use it, nothing changes.',
  }
  return html`<section class="card"><h2>E-mail and password</h2>
<p>${
    email === null
      ? 'No address: no notices come, and no password can be reset.'
      : html`Notices and links go
  to <strong class="address">${email}</strong>.`
  }</p>
${mayAct && operator.forms.ask(forms.changeEmail, change)}
${mayAct && !isSelf && email !== null && operator.forms.ask(forms.sendReset, reset)}</section>`
}
