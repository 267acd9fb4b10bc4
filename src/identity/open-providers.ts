/** Opens the way to the brokerage's identity providers, by the settings. Nothing is asked yet. */
import type { Clock } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { type GuardedFetch, openGuardedFetch } from '../network/guarded-fetch.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import { openUpstreams, type Upstreams } from './upstream.ts'

interface ProviderDependencies {
  readonly config: Config
  readonly db: Sql
  readonly vault: Vault
  readonly clock: Clock
}

export function openProviders({ config, db, vault, clock }: ProviderDependencies): Upstreams {
  const fetch = openProviderFetch(config)
  return openUpstreams({ db, vault, clock, fetch, allowLoopback: isDevelopment(config) })
}

export function openProviderFetch(config: Config): GuardedFetch {
  const policy = { allowLoopback: isDevelopment(config), ports: [], networks: config.signIn.providerNetworks }
  return openGuardedFetch({
    policy,
    dnsServers: config.webhooks.dnsServers,
    authority: config.signIn.providerAuthority,
    settings: { networks: 'PROVIDER_NETWORKS', authority: 'PROVIDER_CA_FILE' },
  })
}
