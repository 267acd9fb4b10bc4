/** The forms of deliveries: what is sent again, recovered or skipped. */
import { noteCharacters } from '../../../webhooks/subscriptions/note.ts'
import { asAsked, moment, text, tick } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

/** What is to be sent again, as the address of the page asks it. */
export const selection = {
  from: moment({ label: 'From (UTC)' }),
  to: moment({ label: 'Until (UTC)' }),
  entity: text({
    label: 'Entity',
    hint: 'Such as transaction:42',
    most: 100,
    more: html`spellcheck="false"`,
  }),
  failed: tick({ label: 'Only what failed after all retries' }),
}

export const startReplay = defineForm(
  '/partner/:branch/webhooks/:id/replay/start',
  {
    from: asAsked(selection.from),
    to: asAsked(selection.to),
    entity: asAsked(selection.entity),
    failed: asAsked(selection.failed),
  },
  {
    makes: true,
    heldBy: '/partner/:branch/webhooks/:id/replay?from=:from&to=:to&entity=:entity&failed=:failed',
  },
)
export const cancelReplay = defineButton('/partner/:branch/webhooks/:id/replays/:replay/cancel')

/** Since when a receiver had trouble, as the address of the page asks it. */
export const trouble = {
  since: moment({
    label: 'Trouble since (UTC)',
    hint: 'What failed after all retries from then on, and was not delivered or skipped since, is sent again.',
    isRequired: true,
  }),
}

export const startRecovery = defineForm(
  '/partner/:branch/webhooks/:id/recover/start',
  { since: asAsked(trouble.since) },
  { makes: true, heldBy: '/partner/:branch/webhooks/:id/recover?since=:since' },
)

const reason = text({
  label: 'Reason',
  hint: 'Optional. It is kept with the delivery.',
  most: noteCharacters,
})

export const startSkip = defineForm(
  '/partner/:branch/webhooks/:id/skip/start',
  { reason, confirmed: tick({ label: 'Skip all queued deliveries', isRequired: true }) },
  { makes: true },
)

export const redeliver = defineButton('/partner/:branch/deliveries/:id/redeliver', { makes: true })
export const skip = defineForm('/partner/:branch/deliveries/:id/skip', { reason })
