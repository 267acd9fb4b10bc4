/** The forms by which operators act on a partner's webhook. */
import { reason, shown } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'

/** `queue` where the attention queue printed it. */
const from = shown()

export const pauseWebhook = defineForm('/console/webhooks/:id/pause', { from, reason: reason() })
export const resumeWebhook = defineForm('/console/webhooks/:id/resume', { from })
export const probe = defineButton('/console/webhooks/:id/incident/probe', { makes: true })
export const recover = defineButton('/console/webhooks/:id/recover/start', { makes: true })
