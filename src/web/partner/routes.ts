/** The partner portal, on one screen: every page and every form, and who may use it. */
import { type PageRoute, page } from '../page-route.ts'
import { showDeliveries } from './deliveries.ts'
import { redeliver, showDelivery } from './delivery.ts'
import { showEntry, showPartner, submitApplication } from './entry.ts'
import { memberForm, memberPage, type Params } from './member.ts'
import { cancelReplay, showProgress, showReplay, startReplay } from './replays.ts'
import { sendTestHook, showTestHooks, showTestOutcome } from './test-hooks.ts'
import {
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
  showWebhook,
  showWebhooks,
  updateWebhook,
} from './webhooks.ts'

const webhooks = () => '/webhooks'
const webhook = ({ id }: Params) => `/webhooks/${id}`
const replay = ({ id, replay }: Params) => `/webhooks/${id}/replays/${replay}`

export const partnerRoutes: readonly PageRoute[] = [
  // Whoever is signed in.
  page('GET', '/partner', showEntry),
  page('POST', '/partner/apply', submitApplication),
  // Members, whatever the state of their partner: it is what they see.
  page('GET', '/partner/:branch', showPartner),
  // Members of an approved partner.
  memberPage('/partner/:branch/webhooks', showWebhooks),
  memberForm('/partner/:branch/webhooks/create', webhooks, createWebhook),
  memberPage('/partner/:branch/webhooks/:id', showWebhook),
  memberForm('/partner/:branch/webhooks/:id/update', webhook, updateWebhook),
  memberForm('/partner/:branch/webhooks/:id/secret', webhook, rotateSecret),
  memberForm('/partner/:branch/webhooks/:id/pause', webhook, pauseWebhook),
  memberForm('/partner/:branch/webhooks/:id/resume', webhook, resumeWebhook),
  memberForm('/partner/:branch/webhooks/:id/delete', webhook, deleteWebhook),
  memberPage('/partner/:branch/webhooks/:id/replay', showReplay),
  memberForm('/partner/:branch/webhooks/:id/replay/start', ({ id }) => `/webhooks/${id}/replay`, startReplay),
  memberPage('/partner/:branch/webhooks/:id/replays/:replay', showProgress),
  memberForm('/partner/:branch/webhooks/:id/replays/:replay/cancel', replay, cancelReplay),
  memberPage('/partner/:branch/deliveries', showDeliveries),
  memberPage('/partner/:branch/deliveries/:id', showDelivery),
  memberForm('/partner/:branch/deliveries/:id/redeliver', ({ id }) => `/deliveries/${id}`, redeliver),
  memberPage('/partner/:branch/test', showTestHooks),
  memberForm('/partner/:branch/test/send', () => '/test', sendTestHook),
  memberPage('/partner/:branch/test/:event', showTestOutcome),
]
