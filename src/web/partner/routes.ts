/** The partner portal, on one screen: every page and every form, and who may use it. */
import { freshlySignedIn } from '../gates.ts'
import { makes, onBothSites, type PageRoute, page } from '../route.ts'
import type { Params } from '../frame/visit.ts'
import { whenVisited } from '../frame/when-visited.ts'
import { memberForm, memberPage } from './member.ts'

const { askRefresh, askScopes, createClient, revokeSecret, rotateSecret, showClient, showClients, updateClient } =
  whenVisited(() => import('./clients.ts'))
const { showDeliveries } = whenVisited(() => import('./deliveries.ts'))
const { redeliver, showDelivery, skip } = whenVisited(() => import('./delivery.ts'))
const { acceptInvited, declineInvited, showEntry, showPartner, submitApplication } = whenVisited(
  () => import('./entry.ts'),
)
const { invite, remove, showMembers, uninvite } = whenVisited(() => import('./members.ts'))
const { showRecovery, startRecovery } = whenVisited(() => import('./recovery.ts'))
const { showReference } = whenVisited(() => import('./reference.ts'))
const { showRefusals } = whenVisited(() => import('./refusals.ts'))
const { cancelReplay, showProgress, showReplay, startReplay } = whenVisited(() => import('./replays.ts'))
const { showSkip, showSkipProgress, startSkip } = whenVisited(() => import('./skips.ts'))
const { sendTestHook, showTestHooks, showTestOutcome } = whenVisited(() => import('./test-hooks.ts'))
const {
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateSecret: rotateWebhookSecret,
  showWebhook,
  showWebhooks,
  updateWebhook,
} = whenVisited(() => import('./webhooks.ts'))

const webhooks = () => '/webhooks'
const webhook = ({ id }: Params) => `/webhooks/${id}`
const clients = () => '/clients'
const client = ({ client }: Params) => `/clients/${client}`
const replay = ({ id, replay }: Params) => `/webhooks/${id}/replays/${replay}`

/** What a partner has on each site: clients, webhooks, deliveries, refusals. */
const ofEachSite: readonly PageRoute[] = [
  // Whoever is signed in.
  page('GET', '/partner', showEntry),
  // Members, whatever the state of their partner: it is what they see.
  page('GET', '/partner/:branch', showPartner),
  // Members of an approved partner.
  memberPage('/partner/:branch/webhooks', showWebhooks),
  makes(memberForm('/partner/:branch/webhooks/create', webhooks, createWebhook)),
  memberPage('/partner/:branch/webhooks/:id', showWebhook),
  memberForm('/partner/:branch/webhooks/:id/update', webhook, updateWebhook),
  makes(memberForm('/partner/:branch/webhooks/:id/secret', webhook, rotateWebhookSecret)),
  memberForm('/partner/:branch/webhooks/:id/pause', webhook, pauseWebhook),
  memberForm('/partner/:branch/webhooks/:id/resume', webhook, resumeWebhook),
  memberForm('/partner/:branch/webhooks/:id/delete', webhook, deleteWebhook),
  memberPage('/partner/:branch/webhooks/:id/replay', showReplay),
  makes(memberForm('/partner/:branch/webhooks/:id/replay/start', ({ id }) => `/webhooks/${id}/replay`, startReplay)),
  memberPage('/partner/:branch/webhooks/:id/replays/:replay', showProgress),
  memberForm('/partner/:branch/webhooks/:id/replays/:replay/cancel', replay, cancelReplay),
  memberPage('/partner/:branch/webhooks/:id/recover', showRecovery),
  makes(
    memberForm('/partner/:branch/webhooks/:id/recover/start', ({ id }) => `/webhooks/${id}/recover`, startRecovery),
  ),
  memberPage('/partner/:branch/webhooks/:id/skip', showSkip),
  makes(memberForm('/partner/:branch/webhooks/:id/skip/start', ({ id }) => `/webhooks/${id}/skip`, startSkip)),
  memberPage('/partner/:branch/webhooks/:id/skips/:skip', showSkipProgress),
  memberPage('/partner/:branch/deliveries', showDeliveries),
  memberPage('/partner/:branch/deliveries/:id', showDelivery),
  makes(memberForm('/partner/:branch/deliveries/:id/redeliver', ({ id }) => `/deliveries/${id}`, redeliver)),
  memberForm('/partner/:branch/deliveries/:id/skip', ({ id }) => `/deliveries/${id}`, skip),
  memberPage('/partner/:branch/test', showTestHooks),
  makes(memberForm('/partner/:branch/test/send', () => '/test', sendTestHook)),
  memberPage('/partner/:branch/test/:event', showTestOutcome),
  memberPage('/partner/:branch/clients', showClients),
  makes(memberForm('/partner/:branch/clients/create', clients, createClient, freshlySignedIn)),
  memberPage('/partner/:branch/clients/:client', showClient),
  memberForm('/partner/:branch/clients/:client/update', client, updateClient, freshlySignedIn),
  makes(memberForm('/partner/:branch/clients/:client/scopes', client, askScopes, freshlySignedIn)),
  makes(memberForm('/partner/:branch/clients/:client/rotate', client, rotateSecret, freshlySignedIn)),
  memberForm('/partner/:branch/clients/:client/revoke', client, revokeSecret),
  memberPage('/partner/:branch/refusals', showRefusals),
  memberPage('/partner/:branch/reference', showReference),
]

/** A partner as a whole, on both sites at once: who it is, who acts for it, what the brokerage lets it do. On the live site alone. */
const ofThePartner: readonly PageRoute[] = [
  makes(page('POST', '/partner/apply', submitApplication)),
  page('POST', '/partner/accept', acceptInvited),
  page('POST', '/partner/decline', declineInvited),
  makes(memberForm('/partner/:branch/clients/refresh', clients, askRefresh)),
  memberPage('/partner/:branch/members', showMembers),
  makes(memberForm('/partner/:branch/members/invite', () => '/members', invite, freshlySignedIn)),
  memberForm('/partner/:branch/members/uninvite', () => '/members', uninvite, freshlySignedIn),
  memberForm('/partner/:branch/members/remove', () => '/members', remove, freshlySignedIn),
]

export const partnerRoutes: readonly PageRoute[] = [...onBothSites(ofEachSite), ...ofThePartner]
