/** The forms of deliveries: what is sent again, recovered or skipped. */
import { noteCharacters } from '../../../webhooks/subscriptions/note.ts'
import { anyTicks, asAsked, moment, text, tick, untypedMost } from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

/** What is to be sent again, as the address of the page asks it. */
export const selection = {
  from: moment({ label: 'From' }),
  to: moment({ label: 'Until' }),
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
/** As many as a page shows. */
export const sentAgainAtMost = 50

export const sendAgain = defineForm(
  '/partner/:branch/deliveries/again',
  {
    delivery: anyTicks({ label: 'Deliveries' }),
    search: asAsked(text({ label: 'Search', most: untypedMost })),
  },
  { makes: true },
)
export const skip = defineForm('/partner/:branch/deliveries/:id/skip', { reason })
