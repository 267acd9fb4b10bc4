/** The forms of a partner's members, and of those whom it invites. */
import { memberRoles } from '../../../vocabulary/member-role.ts'
import { email, key, keyNumber, oneOf } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

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

export const accept = defineButton('/partner/invitation/:token/accept', { makes: true })
export const decline = defineButton('/partner/invitation/:token/decline')
