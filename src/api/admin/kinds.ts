/** The kinds that are declared, as the interface calls them. */
import { clients } from '../../administration/clients.ts'
import { partners } from '../../administration/partners.ts'
import { providers } from '../../administration/providers.ts'
import { roleMaps } from '../../administration/role-maps.ts'
import { services } from '../../administration/services.ts'
import { sources } from '../../administration/sources.ts'
import { webhooks } from '../../administration/webhooks.ts'
import { declared } from './declared.ts'

export const partnerEndpoints = declared(partners, { one: 'Partner', many: 'Partners', a: 'a partner' })
export const clientEndpoints = declared(clients, { one: 'Client', many: 'Clients', a: 'a client' })
export const serviceEndpoints = declared(services, { one: 'Service', many: 'Services', a: 'a service' })
export const sourceEndpoints = declared(sources, { one: 'Source', many: 'Sources', a: 'a source' })
export const webhookEndpoints = declared(webhooks, {
  one: 'PartnerWebhook',
  many: 'PartnerWebhooks',
  a: 'a webhook',
})
export const providerEndpoints = declared(providers, {
  one: 'Provider',
  many: 'Providers',
  a: 'an identity provider',
})
export const roleMapEndpoints = declared(roleMaps, { one: 'RoleMap', many: 'RoleMaps', a: 'a role map' })
