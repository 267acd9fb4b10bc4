/** Opens the way to the brokerage's identity providers, by the settings. Nothing is asked yet. */
import type { Clock } from '../clock.ts'
import { type Config, isDevelopment } from '../config.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import { openGuardedFetch } from './guarded-fetch.ts'
import { openUpstreams, type Upstreams } from './upstream.ts'

interface Opened {
  readonly config: Config
  readonly db: Database
  readonly vault: Vault
  readonly clock: Clock
}

export function openProviders({ config, db, vault, clock }: Opened): Upstreams {
  const allowLoopback = isDevelopment(config)
  const policy = { allowLoopback, ports: [], networks: config.signIn.providerNetworks }
  const fetch = openGuardedFetch(policy, config.webhooks.dnsServers)
  return openUpstreams({ db, vault, clock, fetch, allowLoopback })
}
