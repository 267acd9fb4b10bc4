/** The forms of users and of staff. */
import { staffRoles } from '../../../vocabulary/permission.ts'
import { email, key, keyNumber, oneOf, reason, shown, text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const unfilled = html`autocomplete="off"`

/** Of a person who chooses their password by a link. */
const person = {
  username: text({
    label: 'Username',
    hint: 'What they sign in with: letters, digits and . _ @ + -',
    most: 100,
    isRequired: true,
    more: html`autocomplete="off" autocapitalize="none" spellcheck="false"`,
  }),
  name: text({ label: 'Full name', most: 200, isRequired: true, more: unfilled }),
  email: email({
    hint: 'Where the link for their password and every notice goes.',
    more: unfilled,
  }),
}

export const createUser = defineForm('/console/users/create', person, {
  makes: true,
  heldBy: '/console/users/new',
})

const role = oneOf({ label: 'Role', of: staffRoles })

export const createStaff = defineForm(
  '/console/staff/new/create',
  { ...person, role, reason: reason() },
  { makes: true },
)

export const changeEmail = defineForm('/console/users/:id/email', {
  email: email({ label: 'New address', more: unfilled }),
  reason: reason(),
})
export const sendReset = defineForm('/console/users/:id/reset', { reason: reason() })

/** `queue` where the attention queue printed it. */
const from = shown()
export const lockUser = defineForm('/console/users/:id/lock', { reason: reason() })
export const unlockUser = defineForm('/console/users/:id/unlock', { from })
export const liftThrottle = defineForm('/console/users/:id/throttle/lift', { from })

export const closeSession = defineForm('/console/users/:id/sessions/close', {
  session: keyNumber(),
  reason: reason(),
})
export const closeSessions = defineForm('/console/users/:id/sessions/close/all', { reason: reason() })
export const revokeToken = defineForm('/console/users/:id/tokens/revoke', {
  token: keyNumber(),
  reason: reason(),
})
export const revokeApplication = defineForm('/console/users/:id/applications/revoke', {
  authorization: keyNumber(),
  reason: reason(),
})
export const resetFactors = defineForm('/console/users/:id/factors/reset', { reason: reason() })

export const giveRole = defineForm('/console/staff/:id/give', {
  role,
  reason: reason(),
})
export const takeRole = defineForm('/console/staff/:id/take', { role: key(), reason: reason() })
