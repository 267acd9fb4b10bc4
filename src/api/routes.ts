/** The API for machines, on one screen: method, path, who may call, what happens. */

import { searchAudit } from './admin/audit.ts'
import {
  endAuthorization,
  fetchAuthorization,
  listAuthorizations,
  pauseAuthorization,
} from './admin/authorizations.ts'
import { fetchOneImport, listAllImports, proposeRemoval, stopOneImport } from './admin/imports.ts'
import {
  clientEndpoints as clients,
  partnerEndpoints as partners,
  providerEndpoints as providers,
  roleMapEndpoints as roleMaps,
  serviceEndpoints as services,
  sourceEndpoints as sources,
  webhookEndpoints as webhooks,
} from './admin/kinds.ts'
import { fetchProposal, listProposals, withdraw } from './admin/proposals.ts'
import { fetchRole, listRoles } from './admin/roles.ts'
import {
  deleteClientSecret,
  postClientSecret,
  postProviderCredential,
  postServiceSecret,
  postWebhookSecret,
} from './admin/secrets.ts'
import { fetchAllSettings } from './admin/settings.ts'
import { endSession, endSessions, fetchUser, listUserSessions, listUsers, lockUser } from './admin/users.ts'
import { forwardAuthRoutes } from './forward-auth/doors.ts'
import { type Route, route } from './frame/route.ts'
import { admin } from './gates/admin-gate.ts'
import { anyone, bearer, branch, client, clientOrService } from './gates/gates.ts'
import { provisioner, service } from './gates/service-gates.ts'
import { tellAudit } from './internal/audit.ts'
import { fetchCustomers } from './internal/customers.ts'
import { publishEvents } from './internal/events.ts'
import { continuesImport, fetchImport, fetchImports, startsImport } from './internal/imports.ts'
import { putRecord, removeRecord } from './internal/provisioning.ts'
import { tellRevocations } from './internal/revocations.ts'
import { adminOpenApi, internalOpenApi, openApi } from './openapi/endpoint.ts'
import { accessToken } from './v1/access-token.ts'
import { introspect } from './v1/introspect.ts'
import { metadata } from './v1/metadata.ts'
import { pushRequest } from './v1/par.ts'
import { publicKeys, publicKeysPath } from './v1/public-keys.ts'
import { refreshToken } from './v1/refresh-token.ts'
import { describeResources } from './v1/resource-metadata.ts'
import { revoke } from './v1/revoke.ts'
import { userProfile } from './v1/user-profile.ts'
import { fetchDelivery, listDeliveries, redeliver, skipDelivery } from './v2/deliveries.ts'
import { pullEvents } from './v2/events.ts'
import {
  cancelReplay,
  countRecoveries,
  countReplays,
  fetchReplay,
  recoverWebhook,
  startReplay,
} from './v2/replays.ts'
import { fetchSkip, startSkip } from './v2/skips.ts'
import { testHook } from './v2/test-hooks.ts'
import {
  createWebhook,
  deleteWebhook,
  fetchSettings,
  fetchWebhook,
  listWebhooks,
  pauseWebhook,
  resumeWebhook,
  rotateSecret,
  updateWebhook,
} from './v2/webhooks.ts'

const table: readonly Route[] = [
  route('GET', '/openapi.json', anyone, openApi),
  route('GET', '/.well-known/oauth-authorization-server', anyone, metadata),
  route('GET', '/.well-known/openid-configuration', anyone, { ...metadata, isHidden: true }),
  route('GET', publicKeysPath, anyone, publicKeys),
  route('POST', '/v1/oauth/par', client, pushRequest),
  route('POST', '/v1/oauth/accesstoken', client, accessToken),
  route('POST', '/v1/oauth/refreshtoken', client, refreshToken),
  route('POST', '/v1/oauth/revoke', client, revoke),
  route('POST', '/v1/oauth/introspect', clientOrService, introspect),
  route('GET', '/v1/user/profile', bearer('read'), userProfile),

  route('POST', '/v2/webhooks/transaction', branch('developer'), testHook('TRANSACTION')),
  route('POST', '/v2/webhooks/application', branch('developer'), testHook('APPLICATION')),
  route('POST', '/v2/webhooks/achprofile', branch('developer'), testHook('ACH_PROFILE')),
  route('GET', '/v2/webhooks', branch('viewer'), listWebhooks),
  route('POST', '/v2/webhooks', branch('developer'), createWebhook),
  route('GET', '/v2/webhooks/:id', branch('viewer'), fetchWebhook),
  route('PUT', '/v2/webhooks/:id', branch('developer'), updateWebhook('putWebhook')),
  route('PATCH', '/v2/webhooks/:id', branch('developer'), updateWebhook('updateWebhook')),
  route('DELETE', '/v2/webhooks/:id', branch('developer'), deleteWebhook),
  route('POST', '/v2/webhooks/:id/pause', branch('developer'), pauseWebhook),
  route('POST', '/v2/webhooks/:id/resume', branch('developer'), resumeWebhook),
  route('POST', '/v2/webhooks/:id/secret', branch('developer'), rotateSecret),
  route('GET', '/v2/webhooks/:id/settings', branch('viewer'), fetchSettings),
  route('GET', '/v2/webhooks/:id/deliveries', branch('viewer'), listDeliveries),
  route('POST', '/v2/webhooks/:id/recover', branch('developer'), recoverWebhook),
  route('POST', '/v2/webhooks/:id/recover/dry-run', branch('developer'), countRecoveries),
  route('POST', '/v2/webhooks/:id/replays', branch('developer'), startReplay),
  route('POST', '/v2/webhooks/:id/replays/dry-run', branch('developer'), countReplays),
  route('GET', '/v2/webhooks/:id/replays/:replayId', branch('viewer'), fetchReplay),
  route('DELETE', '/v2/webhooks/:id/replays/:replayId', branch('developer'), cancelReplay),
  route('POST', '/v2/webhooks/:id/skips', branch('developer'), startSkip),
  route('GET', '/v2/webhooks/:id/skips/:skipId', branch('viewer'), fetchSkip),
  route('GET', '/v2/deliveries/:id', branch('viewer'), fetchDelivery),
  route('POST', '/v2/deliveries/:id/redeliver', branch('developer'), redeliver),
  route('POST', '/v2/deliveries/:id/skip', branch('developer'), skipDelivery),
  route('GET', '/v2/events', branch('viewer'), pullEvents),

  route('POST', '/internal/v1/events', service, publishEvents),
  route('GET', '/internal/v1/revocations', provisioner, tellRevocations),
  route('GET', '/internal/v1/customers', provisioner, fetchCustomers),
  route('PUT', '/internal/v1/customers/:externalId', provisioner, putRecord('customer')),
  route('DELETE', '/internal/v1/customers/:externalId', provisioner, removeRecord('customer')),
  route('PUT', '/internal/v1/accounts/:externalId', provisioner, putRecord('account')),
  route('DELETE', '/internal/v1/accounts/:externalId', provisioner, removeRecord('account')),
  route('PUT', '/internal/v1/holdings/:customer/:account', provisioner, putRecord('holding')),
  route('DELETE', '/internal/v1/holdings/:customer/:account', provisioner, removeRecord('holding')),
  route('POST', '/internal/v1/imports', provisioner, startsImport),
  route('GET', '/internal/v1/imports', provisioner, fetchImports),
  route('GET', '/internal/v1/imports/:id', provisioner, fetchImport),
  route('PATCH', '/internal/v1/imports/:id', provisioner, continuesImport),
  route('GET', '/internal/v1/audit', admin('audit.export'), tellAudit),
  route('GET', '/internal/openapi.json', service, internalOpenApi),

  ...forwardAuthRoutes,

  route('GET', '/admin/openapi.json', admin('overview.see'), adminOpenApi),
  route('GET', '/admin/v1/partners', admin('partners.see'), partners.list),
  route('GET', '/admin/v1/partners/:name', admin('partners.see'), partners.fetch),
  route('PUT', '/admin/v1/partners/:name', admin('partners.manage'), partners.put),
  route('DELETE', '/admin/v1/partners/:name', admin('partners.manage'), partners.end),
  route('GET', '/admin/v1/clients', admin('partners.see'), clients.list),
  route('GET', '/admin/v1/clients/:name', admin('partners.see'), clients.fetch),
  route('PUT', '/admin/v1/clients/:name', admin('partners.manage'), clients.put),
  route('DELETE', '/admin/v1/clients/:name', admin('partners.manage'), clients.end),
  route('POST', '/admin/v1/clients/:name/secrets', admin('partners.manage'), postClientSecret),
  route('DELETE', '/admin/v1/clients/:name/secrets/:id', admin('partners.manage'), deleteClientSecret),
  route('GET', '/admin/v1/services', admin('settings.see'), services.list),
  route('GET', '/admin/v1/services/:name', admin('settings.see'), services.fetch),
  route('PUT', '/admin/v1/services/:name', admin('services.manage'), services.put),
  route('DELETE', '/admin/v1/services/:name', admin('services.manage'), services.end),
  route('POST', '/admin/v1/services/:name/secrets', admin('services.manage'), postServiceSecret),
  route('GET', '/admin/v1/sources', admin('settings.see'), sources.list),
  route('GET', '/admin/v1/sources/:name', admin('settings.see'), sources.fetch),
  route('PUT', '/admin/v1/sources/:name', admin('services.manage'), sources.put),
  route('DELETE', '/admin/v1/sources/:name', admin('services.manage'), sources.end),
  route('GET', '/admin/v1/webhooks', admin('webhooks.see'), webhooks.list),
  route('GET', '/admin/v1/webhooks/:name', admin('webhooks.see'), webhooks.fetch),
  route('PUT', '/admin/v1/webhooks/:name', admin('partners.manage'), webhooks.put),
  route('DELETE', '/admin/v1/webhooks/:name', admin('partners.manage'), webhooks.end),
  route('POST', '/admin/v1/webhooks/:name/secrets', admin('partners.manage'), postWebhookSecret),
  route('GET', '/admin/v1/providers', admin('providers.manage'), providers.list),
  route('GET', '/admin/v1/providers/:name', admin('providers.manage'), providers.fetch),
  route('PUT', '/admin/v1/providers/:name', admin('providers.manage'), providers.put),
  route('DELETE', '/admin/v1/providers/:name', admin('providers.manage'), providers.end),
  route('POST', '/admin/v1/providers/:name/credential', admin('providers.manage'), postProviderCredential),
  route('GET', '/admin/v1/role-maps', admin('providers.manage'), roleMaps.list),
  route('GET', '/admin/v1/role-maps/:name', admin('providers.manage'), roleMaps.fetch),
  route('PUT', '/admin/v1/role-maps/:name', admin('providers.manage'), roleMaps.put),
  route('DELETE', '/admin/v1/role-maps/:name', admin('providers.manage'), roleMaps.end),
  route('GET', '/admin/v1/roles', admin('staff.see'), listRoles),
  route('GET', '/admin/v1/roles/:name', admin('staff.see'), fetchRole),
  route('GET', '/admin/v1/users', admin('users.see'), listUsers),
  route('GET', '/admin/v1/users/:id', admin('users.see'), fetchUser),
  route('POST', '/admin/v1/users/:id/lock', admin('users.manage'), lockUser),
  route('GET', '/admin/v1/users/:id/sessions', admin('users.see'), listUserSessions),
  route('DELETE', '/admin/v1/users/:id/sessions', admin('users.manage'), endSessions),
  route('DELETE', '/admin/v1/users/:id/sessions/:session', admin('users.manage'), endSession),
  route('GET', '/admin/v1/authorizations', admin('users.see'), listAuthorizations),
  route('GET', '/admin/v1/authorizations/:id', admin('users.see'), fetchAuthorization),
  route('POST', '/admin/v1/authorizations/:id/pause', admin('users.manage'), pauseAuthorization),
  route('DELETE', '/admin/v1/authorizations/:id', admin('users.manage'), endAuthorization),
  route('GET', '/admin/v1/proposals', admin('overview.see'), listProposals),
  route('GET', '/admin/v1/proposals/:id', admin('overview.see'), fetchProposal),
  route('DELETE', '/admin/v1/proposals/:id', admin('proposals.decide'), withdraw),
  route('GET', '/admin/v1/imports', admin('imports.manage'), listAllImports),
  route('GET', '/admin/v1/imports/:id', admin('imports.manage'), fetchOneImport),
  route('POST', '/admin/v1/imports/:id/stop', admin('imports.manage'), stopOneImport),
  route('POST', '/admin/v1/imports/:id/removal', admin('imports.manage'), proposeRemoval),
  route('GET', '/admin/v1/settings', admin('settings.see'), fetchAllSettings),
  route('GET', '/admin/v1/audit', admin('audit.see'), searchAudit),
]

/**
 * And the documents of RFC 9728: of the site, and beside each address that takes a bearer token, of what is
 * asked of it.
 */
export const apiRoutes: readonly Route[] = [...table, ...describeResources(table)]
