/** Environment → one typed Config, by the table of settings. The only file that reads the environment. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { KeySource } from '../crypto/vault.ts'
import { isLoopbackUrl } from '../network/loopback.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { AuditTarget } from './kinds.ts'
import { type LoadedSettings, openGiven, readSettings } from './read.ts'
import type { SettingValues } from './table.ts'

export type Config = ReturnType<typeof arrange> & {
  /** Every setting in force, for people to read. */
  readonly settings: LoadedSettings['inForce']
  /** Where programs are looked for. */
  readonly searchPath: string
}

export type SiteConfig = SettingValues['live'] & { readonly environment: Environment }
export type Limits = Config['limits']
export type MailConfig = Config['mail']
export type MailServer = NonNullable<MailConfig['server']>
export type AuditPushConfig = NonNullable<Config['auditPush']>
export type HttpTarget = Extract<AuditTarget, { kind: 'http' }>
export type SyslogTarget = Extract<AuditTarget, { kind: 'syslog' }>
export type TracingConfig = NonNullable<Config['tracing']>

export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const { values, inForce } = readSettings(environment)
  return { ...arrange(values), settings: inForce, searchPath: environment.PATH ?? '' }
}

/** Where a value has its place in Config; a group of the table that is not named here has the table's. */
function arrange({
  live,
  sandbox,
  node,
  database,
  connections,
  secrets,
  secondFactors,
  internal,
  internalTls,
  ...others
}: SettingValues) {
  const { mailServer, mail, auditPush, ...groups } = others
  const sites: readonly [live: SiteConfig, sandbox: SiteConfig] = [
    { environment: 'live', ...live },
    { environment: 'sandbox', ...sandbox },
  ]
  return {
    ...node,
    ...connections,
    ...secondFactors,
    ...groups,
    sites,
    internal: { ...internal, tls: internalTls },
    databaseUrl: database.url ?? database.urlInFile,
    parts: database.parts,
    keySource: keySourceOf(secrets),
    auditPush: auditPushOf(auditPush),
    mail: { ...mail, server: mailServerOf(mailServer), outbox: join(node.dataDir, 'outbox') },
  }
}

function keySourceOf({ keys, keyFile, keyCommand }: SettingValues['secrets']): KeySource {
  if (keyCommand !== undefined) return { kind: 'command', line: keyCommand }
  return keys === undefined ? { kind: 'file', path: keyFile } : { kind: 'environment', keys }
}

/** Undefined when messages become files. */
function mailServerOf(group: SettingValues['mailServer']) {
  const address = group?.url ?? group?.urlInFile
  return address && { ...address, certificateAuthority: group?.certificateAuthority }
}

/** Undefined where nobody is to hear the audit log. */
function auditPushOf(group: SettingValues['auditPush']) {
  const target = group?.target ?? group?.targetInFile
  if (!group || !target) return undefined
  const { authorization, certificateAuthority, cert, key } = group
  const said = target.kind === 'http' ? target.url : `syslog+tls://${target.host}:${target.port}`
  const address = hash('sha256', said, 'buffer')
  return { target, host: target.host, address, authorization, certificateAuthority, cert, key }
}

/** What `countersign listen` takes from the environment. */
export function readListenSettings(environment: NodeJS.ProcessEnv = process.env) {
  return {
    dataDir: openGiven(environment).text('DATA_DIR'),
    isDataDirGiven: environment.DATA_DIR !== undefined,
    clientSecret: environment.COUNTERSIGN_CLIENT_SECRET,
  }
}

/** Of the commands that speak to the administration interface: where it is, and as whom. */
export function readAdministrationSettings(environment: NodeJS.ProcessEnv = process.env) {
  return {
    url: environment.COUNTERSIGN_ADMIN_URL || undefined,
    credential: environment.COUNTERSIGN_ADMIN_CREDENTIAL || undefined,
  }
}

export type ListenSettings = ReturnType<typeof readListenSettings>

/** Development is a gateway that only this machine can reach. */
export function isDevelopment(config: Pick<Config, 'sites'>): boolean {
  return config.sites.every((site) => isLoopbackUrl(site.baseUrl))
}
