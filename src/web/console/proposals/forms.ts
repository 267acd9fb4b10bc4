/** The forms that decide a proposal. */
import { reason } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'

export const approveProposal = defineButton('/console/proposals/:id/approve')
export const declineProposal = defineForm('/console/proposals/:id/decline', { reason: reason() })
export const withdrawProposal = defineForm('/console/proposals/:id/withdraw', { reason: reason() })
