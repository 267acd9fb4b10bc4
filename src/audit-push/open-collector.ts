/** The collector that the settings name. */
import type { AuditPushConfig } from '../settings/config.ts'
import type { Collector } from './collector.ts'
import { openHttp } from './http.ts'
import { openSyslog } from './syslog.ts'

/** `hostname`: who says so, in messages of syslog. */
export function openCollector(config: AuditPushConfig, hostname: string): Collector {
  const { target } = config
  return target.kind === 'syslog' ? openSyslog(target, config, hostname) : openHttp(target, config)
}
