/**
 * Looks at everything that a gateway needs and says what is not well, in the order in which one thing rests
 * on another. It works beside a gateway and without one, and changes nothing.
 */
import type { Clock } from '../clock.ts'
import type { Config } from '../settings/config.ts'
import { ConfigError } from '../settings/read.ts'
import { checkAnchors } from './audit-anchors.ts'
import { checkAuditListener } from './audit-listener.ts'
import { checkCertificateFile, checkShownCertificate } from './certificate.ts'
import { checkClock } from './clocks.ts'
import { checkDataFolder } from './data-folder.ts'
import { findPrimary } from './database-hosts.ts'
import { type Answer, fail, ok, type Result } from './finding.ts'
import { checkKeys, checkSealed } from './keys.ts'
import { limits } from './limits.ts'
import { checkMailServer } from './mail-server.ts'
import { checkNameServers } from './name-servers.ts'
import { checkOperators } from './operators.ts'
import { checkParts } from './parts.ts'
import { checkPromises } from './promises.ts'
import { checkProviders } from './providers.ts'
import { checkDeliveries, checkNumbering, checkWebhooks } from './queue.ts'
import { both, type CheckFact, nothing, openRound, type Round } from './round.ts'
import { checkConnections, checkDurability, checkSchema, checkVersion } from './server.ts'
import { checkNotifications, checkSessions } from './sessions.ts'
import { checkPort, checkSite } from './sites.ts'
import { checkAddresses, checkAdministrators, checkFourEyes } from './staff.ts'
import { checkTls } from './tls.ts'
import { checkWorkers } from './workers.ts'

export async function examine(readConfig: () => Config, clock: Clock): Promise<readonly Result[]> {
  const round = openRound(limits.checkMs)
  const closers: (() => Promise<void>)[] = []
  const config = await round.ask('configuration', nothing, () => checkConfiguration(readConfig))
  try {
    await examineStorage(round, config, clock, closers)
    await examineSites(round, config, clock)
    await round.ask('name servers', config, checkNameServers)
    await round.ask('mail server', config, checkMailServer, limits.mailMs)
  } finally {
    for (const close of closers.reverse()) await close()
  }
  return round.results
}

function checkConfiguration(readConfig: () => Config): Answer<Config> {
  try {
    const config = readConfig()
    const database = config.databaseUrl === undefined ? 'a private PostgreSQL' : 'DATABASE_URL'
    const processes = config.processes === 1 ? 'one process' : `${config.processes} processes`
    return {
      finding: ok(
        `Every setting can be used: roles ${config.roles.join(' and ')}, ${processes}, ${database}.`,
      ),
      value: config,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'Fix these settings; "countersign settings" lists all of them with their defaults.'
    return { finding: fail(error.problems.join(' '), advice) }
  }
}

async function examineStorage(
  round: Round,
  config: CheckFact<Config>,
  clock: Clock,
  closers: (() => Promise<void>)[],
): Promise<void> {
  await round.ask('data folder', config, checkDataFolder)
  const primary = await round.ask('database', config, (given) => findPrimary(given, closers), limits.openMs)
  await round.ask('version', primary, checkVersion)
  const schema = await round.ask('schema', primary, checkSchema)
  await round.ask('connections', both(primary, config), ([found, given]) => checkConnections(found, given))
  await round.ask('durability', primary, checkDurability)
  await round.ask('sessions', primary, checkSessions)
  await round.ask('notifications', primary, checkNotifications)
  await round.ask('clock', primary, (found) => checkClock(found, clock))
  const vault = await round.ask('keys', config, checkKeys, limits.keysMs)
  await round.ask('sealed secrets', both(vault, schema), ([given, db]) => checkSealed(given, db))
  await round.ask('audit anchors', both(both(config, vault), schema), ([[given, keys], db]) =>
    checkAnchors(given, keys, db),
  )
  await round.ask('audit listener', both(config, schema), ([given, db]) =>
    checkAuditListener(given, db, clock),
  )
  await round.ask('workers', schema, checkWorkers)
  await round.ask('parts', schema, (db) => checkParts(db, clock))
  await round.ask('numbering', schema, (db) => checkNumbering(db, clock))
  await round.ask('deliveries', schema, (db) => checkDeliveries(db, clock))
  await round.ask('promises', schema, (db) => checkPromises(db, clock), limits.promisesMs)
  await round.ask('webhooks', schema, (db) => checkWebhooks(db, clock))
  await round.ask('operators', both(schema, config), ([db, given]) => checkOperators(db, given))
  await round.ask('administrators', schema, checkAdministrators)
  await round.ask('staff addresses', schema, checkAddresses)
  await round.ask('four eyes', both(schema, config), ([db, given]) => checkFourEyes(db, given))
  const known = both(schema, config)
  await round.ask(
    'identity providers',
    known,
    ([db, given]) => checkProviders(db, given, clock),
    limits.providersMs,
  )
}

async function examineSites(round: Round, config: CheckFact<Config>, clock: Clock): Promise<void> {
  await round.ask('certificate file', config, (given) => checkCertificateFile(given, clock))
  for (const [name, index] of [['live', 0] as const, ['sandbox', 1] as const]) {
    const port = await round.ask(`${name} port`, config, (given) => checkPort(given, given.sites[index]))
    const known = both(config, port)
    const site = await round.ask(`${name} site`, known, ([given, state]) =>
      checkSite(given, given.sites[index], state),
    )
    await round.ask(`${name} certificate`, both(config, site), ([given]) =>
      checkShownCertificate(given, given.sites[index], clock),
    )
    await round.ask(`${name} TLS`, both(config, site), ([given]) => checkTls(given.sites[index]))
  }
}
