/**
 * Every setting, once. The key of a row is its name in Config, which has its type from here; `countersign
 * settings`, `serve --help`, the console and docs/operating.md print these rows, and mistakes are told by
 * their kinds. Rules between settings are in rules.ts.
 */

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { houseBrand } from '../vocabulary/brand.ts'
import * as kind from './kinds.ts'
import { isLocal, whereLocal } from './local.ts'
import { secondFactors } from './second-factors.ts'
import { always, type Follow, follows, onlyWith, type SettingRow, setting, type Values } from './setting.ts'
import { signIn } from './sign-in.ts'

/**
 * The retry schedule lasts about 70 hours, and whole days leave: what is kept for less could leave before its
 * last attempt.
 */
export const leastRetentionDays = 4
const retention = kind.days(
  leastRetentionDays,
  'a delivery is tried for about 70 hours, and must not leave before its last attempt',
)

const mostProcesses = 64
const eachCore = () => Math.min(mostProcesses, availableParallelism())

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const samplers = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

/** Empty when it follows from the port that was really taken. */
const baseUrl: kind.ValueKind<string> = (text) => (text === '' ? '' : kind.origin(text))

const bothTlsFiles = kind.fileOf('TLS needs both TLS_CERT_FILE and TLS_KEY_FILE')

const bothInternalTlsFiles = kind.fileOf(
  'TLS of the internal listener needs both INTERNAL_TLS_CERT_FILE and INTERNAL_TLS_KEY_FILE',
)

const portAfter =
  (more: number): Follow =>
  (given) =>
    given.text('PORT') === '0' ? '0' : String(Number(given.text('PORT')) + more)
/** After MTLS_PORT, where there is one. */
const mtlsPortAfter: Follow = (given) =>
  ['', '0'].includes(given.text('MTLS_PORT'))
    ? given.text('MTLS_PORT')
    : String(Number(given.text('MTLS_PORT')) + 1)
const inDataDir = (name: string) => follows(`DATA_DIR/${name}`, (given) => join(given.text('DATA_DIR'), name))
const keyFile = inDataDir('secret.keys')

export const table = {
  live: always({
    port: setting('PORT', '8080', kind.port, 'port of the live interface'),
    baseUrl: setting(
      'BASE_URL',
      follows('http://localhost:PORT', () => ''),
      baseUrl,
      'the address clients use; https unless loopback',
    ),
    rateLimitPerMinute: setting(
      'RATE_LIMIT_PER_MINUTE',
      '120',
      kind.integer(0),
      'requests a token may make in a minute, live; 0 = no limit',
    ),
    mtlsPort: setting(
      'MTLS_PORT',
      '',
      kind.optional(kind.port),
      'port of the live interface for clients that show a certificate, by the TLS of TLS_CERT_FILE; none unless set',
    ),
    mtlsUrl: setting(
      'MTLS_URL',
      follows('host of BASE_URL, MTLS_PORT', () => ''),
      baseUrl,
      'the address that these clients use',
    ),
  }),
  sandbox: always({
    port: setting('SANDBOX_PORT', follows('PORT + 1', portAfter(1)), kind.port, 'port of the sandbox'),
    baseUrl: setting(
      'SANDBOX_URL',
      follows('http://localhost:SANDBOX_PORT', () => ''),
      baseUrl,
      'the address clients use for the sandbox; https unless loopback',
    ),
    rateLimitPerMinute: setting(
      'SANDBOX_RATE_LIMIT_PER_MINUTE',
      '60',
      kind.integer(0),
      'requests a token may make in a minute in the sandbox; 0 = no limit',
    ),
    mtlsPort: setting(
      'SANDBOX_MTLS_PORT',
      follows('MTLS_PORT + 1', mtlsPortAfter),
      kind.optional(kind.port),
      'the same port of the sandbox',
    ),
    mtlsUrl: setting(
      'SANDBOX_MTLS_URL',
      follows('host of SANDBOX_URL, SANDBOX_MTLS_PORT', () => ''),
      baseUrl,
      'the address that these clients use for the sandbox',
    ),
  }),
  node: always({
    host: setting(
      'HOST',
      follows('localhost', whereLocal('localhost', '0.0.0.0')),
      kind.text,
      'address to listen on (0.0.0.0 when BASE_URL is not loopback)',
    ),
    trustProxy: setting(
      'TRUST_PROXY',
      '',
      kind.networks,
      'addresses or CIDR ranges of proxies whose X-Forwarded-* headers count',
    ),
    processes: setting(
      'PROCESSES',
      follows('auto', (given) => (isLocal(given) ? '1' : String(eachCore()))),
      kind.integerOr('auto', eachCore, 1, mostProcesses),
      'processes that serve behind one port; auto is one for each core (1 on loopback addresses)',
    ),
    roles: setting('ROLES', 'api,worker', kind.oneOrBoth(['api', 'worker']), 'what this node does'),
    logLevel: setting(
      'LOG_LEVEL',
      'info',
      kind.oneOf(logLevels),
      `${logLevels.join(', ')}; a terminal shows requests and attempts from debug on`,
    ),
    dataDir: setting(
      'DATA_DIR',
      './data',
      kind.text,
      'folder of the private PostgreSQL, the key file, demo.json, the outbox and the anchors of the audit log',
    ),
    auditAnchorFile: setting(
      'AUDIT_ANCHOR_FILE',
      inDataDir('audit.anchors'),
      kind.pathOr('off'),
      'file to which heads of the audit log are added, best on another disk; off for none',
    ),
  }),
  tls: onlyWith(['TLS_CERT_FILE', 'TLS_KEY_FILE'], {
    cert: setting('TLS_CERT_FILE', '', bothTlsFiles, 'certificate chain (PEM), with TLS_KEY_FILE'),
    key: setting('TLS_KEY_FILE', '', bothTlsFiles, 'private key (PEM), with TLS_CERT_FILE'),
  }),
  mtls: always({
    proxyHeader: setting(
      'MTLS_PROXY_HEADER',
      'false',
      kind.flag,
      'true takes the certificate of a client from the Client-Cert header (RFC 9440) of a proxy in TRUST_PROXY, which must strip what clients send of it',
    ),
    authorities: setting(
      'MTLS_CA_FILE',
      '',
      kind.issuers,
      'certificate authorities (PEM) whose certificates clients may sign in with, by their subject',
    ),
  }),
  dpop: always({
    nonceForTrade: setting(
      'DPOP_NONCE_FOR_TRADE',
      'false',
      kind.flag,
      'true refuses a DPoP proof without a nonce where its token may trade',
    ),
  }),
  internal: always({
    host: setting(
      'INTERNAL_HOST',
      '127.0.0.1',
      kind.text,
      "address on which the brokerage's own systems call /internal and /admin; keep it inside",
    ),
    port: setting('INTERNAL_PORT', follows('PORT + 2', portAfter(2)), kind.port, 'port of the same'),
  }),
  internalTls: onlyWith(['INTERNAL_TLS_CERT_FILE', 'INTERNAL_TLS_KEY_FILE', 'INTERNAL_TLS_CLIENT_CA_FILE'], {
    cert: setting(
      'INTERNAL_TLS_CERT_FILE',
      '',
      bothInternalTlsFiles,
      'certificate chain (PEM) of the same, with INTERNAL_TLS_KEY_FILE; plain HTTP without',
    ),
    key: setting(
      'INTERNAL_TLS_KEY_FILE',
      '',
      bothInternalTlsFiles,
      'private key (PEM), with INTERNAL_TLS_CERT_FILE',
    ),
    clientAuthority: setting(
      'INTERNAL_TLS_CLIENT_CA_FILE',
      '',
      kind.optional(kind.authorities),
      'certificate authorities (PEM): callers must show a certificate that one of them has signed',
    ),
  }),
  database: always({
    url: setting(
      'DATABASE_URL',
      '',
      kind.optional(kind.postgresUrl),
      'your PostgreSQL (15 or newer) instead of the private one',
      'credentials',
    ),
    urlInFile: setting(
      'DATABASE_URL_FILE',
      '',
      kind.optional(kind.inFile(kind.postgresUrl)),
      'a file that holds DATABASE_URL, for secrets that come as files',
    ),
    parts: setting(
      'PARTS',
      '4',
      kind.integer(1, 256),
      'parts (shards) of the delivery engine, chosen by the first migration; more where Citus spreads them',
    ),
  }),
  /** Of all processes together, as every limit here; shareOf says what one of them has. */
  connections: always({
    databaseConnections: setting(
      'DATABASE_CONNECTIONS',
      '10',
      kind.integer(1, 200),
      'connections a node opens at most for requests and deliveries; its processes share them, at least 4 each',
    ),
    streamConnections: setting(
      'DATABASE_STREAM_CONNECTIONS',
      '3',
      kind.integer(1, 50),
      'connections beside those, for event streams and updating pages alone',
    ),
  }),
  secrets: always({
    keys: setting(
      'SECRET_KEY',
      '',
      kind.optional(kind.keys),
      'keys that seal stored secrets, newest first, separated by commas',
      'all',
    ),
    keyFile: setting(
      'SECRET_KEY_FILE',
      follows(keyFile.told, (given) =>
        given.has('SECRET_KEY') || given.has('SECRET_KEY_COMMAND') ? '' : keyFile.follow(given),
      ),
      kind.text,
      'the same as a file, a key a line',
    ),
    keyCommand: setting(
      'SECRET_KEY_COMMAND',
      '',
      kind.optional(kind.text),
      'a command for /bin/sh that prints them, a key a line: the client of a KMS or a vault; asked at each start and at rotation',
      'all',
    ),
  }),
  secondFactors,
  signIn,
  limits: always({
    bodyBytes: setting('BODY_LIMIT_BYTES', '65536', kind.integer(1024), 'largest request body'),
    headerBytes: setting('HEADER_LIMIT_BYTES', '16384', kind.integer(4096), 'largest request head'),
    requestTimeoutMs: setting(
      'REQUEST_TIMEOUT_MS',
      '15000',
      kind.integer(100),
      'time a client has to send its whole request',
    ),
    connections: setting(
      'CONNECTION_LIMIT',
      '10000',
      kind.integer(1),
      'connections that clients may hold to a site at once',
    ),
    loginFailuresPerUser: setting(
      'LOGIN_FAILURES_PER_USER',
      '5',
      kind.integer(1),
      'failed sign-ins of a user in 15 minutes before a wait',
    ),
    loginFailuresPerAddress: setting(
      'LOGIN_FAILURES_PER_ADDRESS',
      '20',
      kind.integer(1),
      'the same from one address',
    ),
    passwordChecksAtOnce: setting(
      'PASSWORD_CHECKS_AT_ONCE',
      '2',
      kind.integer(1, 64),
      'argon2 computations at one time',
    ),
    clientFailuresPerMinute: setting(
      'CLIENT_FAILURES_PER_MINUTE',
      '30',
      kind.integer(1),
      'failed client authentications from one address in a minute',
    ),
    testHooksPerMinute: setting(
      'TEST_HOOKS_PER_MINUTE',
      '60',
      kind.integer(0),
      'test events a branch may send in a minute; 0 = no limit',
    ),
  }),
  provisioning: always({
    removalPercent: setting(
      'SNAPSHOT_REMOVAL_PERCENT',
      '1',
      kind.integer(0, 100),
      'how much of what is known of a source a snapshot may remove without an operator’s approval, in percent',
    ),
  }),
  webhooks: always({
    allowLoopback: setting(
      'WEBHOOK_ALLOW_LOOPBACK',
      follows('false', whereLocal('true', 'false')),
      kind.flag,
      'true lets webhooks reach this machine (true on loopback addresses)',
    ),
    ports: setting('WEBHOOK_PORTS', '443,8443', kind.ports, 'ports that webhooks may use'),
    sentFrom: setting(
      'WEBHOOK_SENT_FROM',
      '',
      kind.networks,
      'addresses or CIDR ranges that deliveries leave from, told to partners for their firewalls; empty = none are promised',
    ),
    dnsServers: setting(
      'WEBHOOK_DNS_SERVERS',
      '',
      kind.list,
      "name servers for webhooks, instead of the system's",
    ),
    certificateAuthority: setting(
      'WEBHOOK_CA_FILE',
      '',
      kind.optional(kind.authorities),
      'certificate authorities (PEM) that webhooks may use instead of the usual ones',
    ),
    attemptDays: setting(
      'ATTEMPT_RETENTION_DAYS',
      '30',
      retention,
      `how long what receivers answered is kept; at least ${leastRetentionDays}`,
    ),
    eventDays: setting(
      'EVENT_RETENTION_DAYS',
      '90',
      retention,
      `how long events and deliveries are kept; at least ${leastRetentionDays}`,
    ),
  }),
  mailServer: onlyWith(['SMTP_URL', 'SMTP_URL_FILE'], {
    url: setting(
      'SMTP_URL',
      '',
      kind.optional(kind.mailUrl),
      'mail server for notices, smtp:// (with STARTTLS) or smtps://; without one they are files in DATA_DIR/outbox',
      'credentials',
    ),
    urlInFile: setting(
      'SMTP_URL_FILE',
      '',
      kind.optional(kind.inFile(kind.mailUrl)),
      'a file that holds SMTP_URL, for secrets that come as files',
    ),
    certificateAuthority: setting(
      'SMTP_CA_FILE',
      '',
      kind.optional(kind.authorities),
      'certificate authorities (PEM) that it may use instead of the usual ones',
    ),
  }),
  mail: always({
    from: setting(
      'MAIL_FROM',
      `${houseBrand.name} <no-reply@localhost>`,
      kind.mailbox,
      'sender of notices: Name <address> or an address; needed with SMTP_URL',
    ),
  }),
  auditPush: onlyWith(['AUDIT_PUSH_URL', 'AUDIT_PUSH_URL_FILE'], {
    target: setting(
      'AUDIT_PUSH_URL',
      '',
      kind.optional(kind.auditTarget),
      'collector that the audit log is pushed to: syslog+tls://HOST:6514 or https://…',
      'credentials',
    ),
    targetInFile: setting(
      'AUDIT_PUSH_URL_FILE',
      '',
      kind.optional(kind.inFile(kind.auditTarget)),
      'a file that holds AUDIT_PUSH_URL, for addresses with a token in them',
    ),
    authorization: setting(
      'AUDIT_PUSH_AUTHORIZATION_FILE',
      '',
      kind.optional(kind.inFile(kind.headerValue)),
      'a file that holds the Authorization header for it, such as Splunk TOKEN',
    ),
    certificateAuthority: setting(
      'AUDIT_PUSH_CA_FILE',
      '',
      kind.optional(kind.authorities),
      'certificate authorities (PEM) that it may use instead of the usual ones',
    ),
    cert: setting(
      'AUDIT_PUSH_CERT_FILE',
      '',
      kind.optional(kind.file),
      'certificate (PEM) by which it knows this gateway, with AUDIT_PUSH_KEY_FILE',
    ),
    key: setting('AUDIT_PUSH_KEY_FILE', '', kind.optional(kind.file), 'private key (PEM) of the same'),
  }),
  metrics: onlyWith(['METRICS_PORT'], {
    port: setting('METRICS_PORT', '', kind.port, 'port on which Prometheus may ask for /metrics'),
    host: setting('METRICS_HOST', '127.0.0.1', kind.text, 'address of the same; keep it inside'),
  }),
  /** Without an address the other names are not ours to judge: they may be meant for another program. */
  tracing: onlyWith(['OTEL_EXPORTER_OTLP_ENDPOINT'], {
    url: setting(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      '',
      kind.collector,
      'address of an OpenTelemetry collector; traces are sent to its /v1/traces as JSON',
      'credentials',
    ),
    headers: setting(
      'OTEL_EXPORTER_OTLP_HEADERS',
      '',
      kind.headers,
      'headers for it: name=value,name=value',
      'all',
    ),
    serviceName: setting('OTEL_SERVICE_NAME', 'countersign', kind.text, 'what traces call this service'),
    sampler: setting(
      'OTEL_TRACES_SAMPLER',
      'parentbased_always_on',
      kind.oneOf(samplers),
      samplers.join(', '),
    ),
    sampledShare: setting(
      'OTEL_TRACES_SAMPLER_ARG',
      '1',
      kind.share,
      'share of traces that are kept, for traceidratio',
    ),
  }),
}

export type SettingValues = Values<typeof table>

/** All of them in the order of the table. */
export const settings: readonly SettingRow<unknown>[] = Object.values(table).flatMap(({ rows }) =>
  Object.values(rows),
)
