/** The forms by which operators decide about partners and their clients. */
import { anyTicks, keyNumber, moment, oneOf, reason, shown, tick } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { messageTo } from '../../parts/message-field.ts'

const ofPartner = '/console/partners/:branch'

/** `queue` where the attention queue printed it. */
const from = shown()
/** The state that the page showed. */
const seen = shown()
/** One person alone does not have to give it. */
const optionalReason = reason({ isOptional: true })

/** The partner reads it on its own pages. */
const toPartner = { most: 2_000 }

export const approve = defineForm(`${ofPartner}/approve`, { from, seen, reason: optionalReason })
export const decline = defineForm(`${ofPartner}/decline`, {
  from,
  seen,
  reason: reason({
    ...toPartner,
    label: 'Reason to decline',
    hint: 'Its members read it, lose the sandbox, and can apply again.',
  }),
})
export const suspend = defineForm(`${ofPartner}/suspend`, {
  seen,
  reason: reason({ ...toPartner, label: 'Reason to suspend', hint: 'Its members read it.' }),
})
export const writeMessage = defineForm(
  `${ofPartner}/message`,
  { message: messageTo('the partner') },
  { makes: true },
)
export const grantRefresh = defineForm(`${ofPartner}/refresh/grant`, { from, reason: optionalReason })
export const withdrawRefresh = defineForm(`${ofPartner}/refresh/withdraw`, { from, reason: reason() })

const ofClient = `${ofPartner}/clients/:client`

export const suspendClient = defineForm(`${ofClient}/suspend`, { reason: reason() })
export const activateClient = defineButton(`${ofClient}/activate`)
export const setScopes = defineForm(`${ofClient}/scopes`, {
  scope: anyTicks({ label: 'It may ask for these, and the partner chooses among them' }),
  reason: optionalReason,
})
export const setRequired = defineForm(`${ofClient}/required`, {
  required: anyTicks({ label: 'Account holders cannot leave these out, where it asks for them' }),
})
export const grantScopes = defineForm(`${ofClient}/scopes/grant`, {
  from,
  request: keyNumber(),
  reason: optionalReason,
})
export const declineScopes = defineForm(`${ofClient}/scopes/decline`, {
  from,
  request: keyNumber(),
  reason: reason(),
})

const profiles = ['standard', 'fapi2'] as const
const bearers = ['end', 'live-out'] as const

export const setProfile = defineForm(`${ofClient}/profile`, {
  profile: oneOf({
    label: 'Profile',
    of: profiles,
    choices: [
      { value: 'standard', label: 'Standard: client secret and bearer tokens' },
      { value: 'fapi2', label: 'FAPI 2.0: its own keys and sender-bound tokens' },
    ],
    hint: 'A day after FAPI 2.0 began its client secrets have ended for good: back in the standard profile it needs a new one.',
  }),
  moment: moment({
    label: 'FAPI 2.0 from',
    hint: 'At once when empty. Until then both ways are taken, and its portal lists what is left to do.',
  }),
  bearers: oneOf({
    label: 'Bearer tokens that it has by then',
    of: bearers,
    choices: [
      { value: 'end', label: 'End at that moment' },
      { value: 'live-out', label: 'Live out their 24 hours' },
    ],
  }),
  nonces: tick({ label: 'Demand a nonce in its DPoP proofs' }),
  reason: optionalReason,
})
export const declineProfile = defineForm(`${ofClient}/profile/decline`, {
  from,
  request: keyNumber(),
  reason: reason(),
})

export const acceptLook = defineForm(`${ofClient}/look/accept`, { version: shown() })
export const declineLook = defineForm(`${ofClient}/look/decline`, { version: shown(), reason: reason() })
export const withdrawLook = defineForm(`${ofClient}/look/withdraw`, { reason: reason() })
