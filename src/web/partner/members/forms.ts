/** The forms of a partner's members, and of those whom it invites. */

import { passwordMaxBytes } from '../../../users/password.ts'
import { memberRoles } from '../../../vocabulary/member-role.ts'
import { email, key, keyNumber, name, oneOf, secret, text } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'
import { newPasswordHint } from '../../sign-in/forms.ts'

const ofMembers = '/partner/:branch/members'

const role = oneOf({ label: 'Role', of: memberRoles })

export const invite = defineForm(
  `${ofMembers}/invite`,
  { email: email({ more: html`autocapitalize="none" spellcheck="false" autocomplete="off"` }), role },
  { makes: true },
)
export const resend = defineForm(`${ofMembers}/resend`, { invitation: keyNumber() }, { makes: true })
export const uninvite = defineForm(`${ofMembers}/uninvite`, { invitation: keyNumber() })
export const setRole = defineForm(`${ofMembers}/role`, { user: key(), role })
export const remove = defineForm(`${ofMembers}/remove`, { user: key() })
export const leave = defineButton(`${ofMembers}/leave`)

/** By somebody who has no account yet. */
export const join = defineForm('/partner/invitation/:token/join', {
  name: name({ label: 'Your name', most: 200, isRequired: true, more: html`autocomplete="name"` }),
  username: text({
    ...{ label: 'Username', most: 100, isRequired: true },
    more: html`autocomplete="username" autocapitalize="none" spellcheck="false"`,
  }),
  password: secret({
    ...{ label: 'Password', most: passwordMaxBytes, isRequired: true, hint: newPasswordHint },
    more: html`autocomplete="new-password"`,
  }),
})

export const accept = defineButton('/partner/invitation/:token/accept', { makes: true })
export const decline = defineButton('/partner/invitation/:token/decline')
