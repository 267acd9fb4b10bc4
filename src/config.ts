/**
 * Environment → one typed Config. The only file that reads the environment. Every mistake is reported at once, with
 * the setting's name and what it expects.
 */
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type KeySource, parseKey } from './crypto/vault.ts'
import type { Environment } from './environment.ts'
import { type SecretPart, withoutSecret } from './secret-setting.ts'

export interface SiteConfig {
  readonly environment: Environment
  readonly port: number
  /** Empty when it follows from the port that was really taken. */
  readonly baseUrl: string
  readonly rateLimitPerMinute: number
}

export interface Config {
  /** Every setting in force, for people to read: what is secret is not in it. */
  readonly settings: readonly SettingInForce[]
  readonly host: string
  readonly sites: readonly SiteConfig[]
  readonly dataDir: string
  /** How many of them `serve` runs behind one port. */
  readonly processes: number
  readonly databaseUrl: string | undefined
  /** Of all processes together, as every limit here; shareOf says what one of them has. */
  readonly databaseConnections: number
  /** Beside those, for streams of events and pages that change by themselves. */
  readonly streamConnections: number
  readonly keySource: KeySource
  /** Where heads of the audit log are written down; undefined for nowhere but the process log. */
  readonly auditAnchorFile: string | undefined
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly trustProxy: readonly string[]
  readonly roles: readonly Role[]
  readonly logLevel: string
  /** Where Prometheus asks; undefined when nobody does. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined
  /** Where spans are sent; undefined when nobody collects them. */
  readonly tracing: TracingConfig | undefined
  readonly searchPath: string
  /** Whether a client may get the scope `trade` only from somebody who has just proven a second factor. */
  readonly secondFactorForTrade: boolean
  /** Whether the console is for operators alone who have a second factor, and gave it in this session. */
  readonly secondFactorForOperators: boolean
  readonly limits: Limits
  readonly webhooks: WebhookConfig
  readonly mail: MailConfig
}

export interface MailConfig {
  readonly from: { readonly name: string; readonly address: string }
  /** Where messages go; undefined when they become files. */
  readonly server: MailServer | undefined
  readonly outbox: string
}

export interface MailServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte, as smtps asks for. */
  readonly secure: boolean
  readonly requireTls: boolean
  readonly user: string | undefined
  readonly password: string | undefined
  readonly certificateAuthority: string | undefined
}

export interface TracingConfig {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly sampler: string
  readonly sampledShare: number
}

export interface WebhookConfig {
  readonly allowLoopback: boolean
  readonly ports: readonly number[]
  readonly dnsServers: readonly string[]
  readonly certificateAuthority: string | undefined
  readonly attemptDays: number
  readonly eventDays: number
}

export interface Limits {
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly requestTimeoutMs: number
  readonly connections: number
  readonly loginFailuresPerUser: number
  readonly loginFailuresPerAddress: number
  readonly clientFailuresPerMinute: number
  readonly testHooksPerMinute: number
  readonly passwordChecksAtOnce: number
}

/** The retry schedule lasts about 70 hours, and whole days leave: what is kept for less could leave before its last attempt. */
export const leastRetentionDays = 4

const mostProcesses = 64

export const roles = ['api', 'worker'] as const
export type Role = (typeof roles)[number]

export interface Setting {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
  /** What nobody is shown: all of it, or what an address carries beside the place it names. */
  readonly secret?: SecretPart
}

export interface SettingInForce extends Setting {
  readonly value: string
  readonly source: 'environment' | 'default'
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const samplers = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

/** Every setting, once: read below, printed by `countersign serve --help`. */
export const settings: readonly Setting[] = [
  { name: 'PORT', fallback: '8080', meaning: 'port of the live interface' },
  { name: 'SANDBOX_PORT', fallback: 'PORT + 1', meaning: 'port of the sandbox' },
  { name: 'HOST', fallback: 'localhost', meaning: 'address to listen on (0.0.0.0 when BASE_URL is not loopback)' },
  { name: 'BASE_URL', fallback: 'http://localhost:PORT', meaning: 'the address clients use; https unless loopback' },
  { name: 'SANDBOX_URL', fallback: 'http://localhost:SANDBOX_PORT', meaning: 'the same for the sandbox' },
  {
    name: 'PROCESSES',
    fallback: 'auto',
    meaning: 'processes that serve behind one port; auto is one for each core (1 on loopback addresses)',
  },
  {
    name: 'DATA_DIR',
    fallback: './data',
    meaning: 'folder of the private PostgreSQL, the key file, demo.json, the outbox and the anchors of the audit log',
  },
  {
    name: 'DATABASE_URL',
    fallback: '',
    meaning: 'your PostgreSQL (15 or newer) instead of the private one',
    secret: 'credentials',
  },
  {
    name: 'DATABASE_URL_FILE',
    fallback: '',
    meaning: 'a file that holds DATABASE_URL, for secrets that come as files',
  },
  {
    name: 'DATABASE_CONNECTIONS',
    fallback: '10',
    meaning: 'connections a node opens at most for requests and deliveries; its processes share them, at least 4 each',
  },
  {
    name: 'DATABASE_STREAM_CONNECTIONS',
    fallback: '3',
    meaning: 'connections beside those, for event streams and live pages alone',
  },
  {
    name: 'SECRET_KEY',
    fallback: '',
    meaning: 'keys that seal stored secrets, newest first, separated by commas',
    secret: 'all',
  },
  { name: 'SECRET_KEY_FILE', fallback: 'DATA_DIR/secret.keys', meaning: 'the same as a file, a key a line' },
  {
    name: 'AUDIT_ANCHOR_FILE',
    fallback: 'DATA_DIR/audit.anchors',
    meaning: 'file to which heads of the audit log are added, best on another disk; off for none',
  },
  { name: 'TLS_CERT_FILE', fallback: '', meaning: 'certificate chain (PEM), with TLS_KEY_FILE' },
  { name: 'TLS_KEY_FILE', fallback: '', meaning: 'private key (PEM), with TLS_CERT_FILE' },
  {
    name: 'TRUST_PROXY',
    fallback: '',
    meaning: 'addresses or CIDR ranges of proxies whose X-Forwarded-* headers count',
  },
  { name: 'ROLES', fallback: 'api,worker', meaning: 'what this node does' },
  { name: 'LOG_LEVEL', fallback: 'info', meaning: logLevels.join(', ') },
  { name: 'METRICS_PORT', fallback: '', meaning: 'port on which Prometheus may ask for /metrics' },
  { name: 'METRICS_HOST', fallback: '127.0.0.1', meaning: 'address of the same; keep it inside' },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: '',
    meaning: 'address of an OpenTelemetry collector; traces are sent to its /v1/traces as JSON',
    secret: 'credentials',
  },
  { name: 'OTEL_EXPORTER_OTLP_HEADERS', fallback: '', meaning: 'headers for it: name=value,name=value', secret: 'all' },
  { name: 'OTEL_SERVICE_NAME', fallback: 'countersign', meaning: 'what traces call this service' },
  { name: 'OTEL_TRACES_SAMPLER', fallback: 'parentbased_always_on', meaning: samplers.join(', ') },
  { name: 'OTEL_TRACES_SAMPLER_ARG', fallback: '1', meaning: 'share of traces that are kept, for traceidratio' },
  {
    name: 'RATE_LIMIT_PER_MINUTE',
    fallback: '120',
    meaning: 'requests a token may make in a minute, live; 0 = no limit',
  },
  { name: 'SANDBOX_RATE_LIMIT_PER_MINUTE', fallback: '60', meaning: 'the same in the sandbox' },
  { name: 'BODY_LIMIT_BYTES', fallback: '65536', meaning: 'largest request body' },
  { name: 'HEADER_LIMIT_BYTES', fallback: '16384', meaning: 'largest request head' },
  { name: 'REQUEST_TIMEOUT_MS', fallback: '15000', meaning: 'time a client has to send its whole request' },
  { name: 'CONNECTION_LIMIT', fallback: '10000', meaning: 'connections that clients may hold to a site at once' },
  { name: 'LOGIN_FAILURES_PER_USER', fallback: '5', meaning: 'failed sign-ins of a user in 15 minutes before a wait' },
  { name: 'LOGIN_FAILURES_PER_ADDRESS', fallback: '20', meaning: 'the same from one address' },
  {
    name: 'REQUIRE_SECOND_FACTOR_FOR_TRADE',
    fallback: 'false',
    meaning: 'true asks for a second factor, given minutes ago, before the scope trade can be approved',
  },
  {
    name: 'REQUIRE_SECOND_FACTOR_FOR_OPERATORS',
    fallback: 'true',
    meaning: 'false lets operators into the console with a password alone (false on loopback addresses)',
  },
  {
    name: 'CLIENT_FAILURES_PER_MINUTE',
    fallback: '30',
    meaning: 'failed client authentications from one address in a minute',
  },
  {
    name: 'TEST_HOOKS_PER_MINUTE',
    fallback: '60',
    meaning: 'test hooks a branch may send in a minute; 0 = no limit',
  },
  {
    name: 'WEBHOOK_ALLOW_LOOPBACK',
    fallback: 'false',
    meaning: 'true lets webhooks reach this machine (true on loopback addresses)',
  },
  { name: 'WEBHOOK_PORTS', fallback: '443,8443', meaning: 'ports that webhooks may use' },
  { name: 'WEBHOOK_DNS_SERVERS', fallback: '', meaning: "name servers for webhooks, instead of the system's" },
  {
    name: 'WEBHOOK_CA_FILE',
    fallback: '',
    meaning: 'certificate authorities (PEM) that webhooks may use instead of the usual ones',
  },
  {
    name: 'ATTEMPT_RETENTION_DAYS',
    fallback: '30',
    meaning: `how long attempts are kept; at least ${leastRetentionDays}`,
  },
  {
    name: 'EVENT_RETENTION_DAYS',
    fallback: '90',
    meaning: `how long events and deliveries are kept; at least ${leastRetentionDays}`,
  },
  {
    name: 'SMTP_URL',
    fallback: '',
    meaning:
      'mail server for notices, smtp:// (with STARTTLS) or smtps://; without one they are files in DATA_DIR/outbox',
    secret: 'credentials',
  },
  { name: 'SMTP_URL_FILE', fallback: '', meaning: 'a file that holds SMTP_URL, for secrets that come as files' },
  {
    name: 'SMTP_CA_FILE',
    fallback: '',
    meaning: 'certificate authorities (PEM) that it may use instead of the usual ones',
  },
  { name: 'MAIL_FROM', fallback: '', meaning: 'sender of notices: Name <address> or an address; needed with SMTP_URL' },
  { name: 'PASSWORD_CHECKS_AT_ONCE', fallback: '2', meaning: 'argon2 computations at one time' },
]

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    )
    this.problems = problems
  }
}

export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const reader = new SettingsReader(environment)
  const port = reader.integer('PORT', 0, 65535)
  const sandboxPort = reader.has('SANDBOX_PORT') ? reader.integer('SANDBOX_PORT', 0, 65535) : port === 0 ? 0 : port + 1
  reader.refuseSharedPort(port, sandboxPort)
  const tls = reader.tls()
  const trustProxy = reader.addresses('TRUST_PROXY')
  const secure = tls !== undefined || trustProxy.length > 0
  const baseUrl = reader.baseUrl('BASE_URL', secure)
  const sandboxUrl = reader.baseUrl('SANDBOX_URL', secure)
  const dataDir = reader.text('DATA_DIR')
  const config: Omit<Config, 'settings'> = {
    host: reader.has('HOST')
      ? reader.text('HOST')
      : [baseUrl, sandboxUrl].every(isLoopbackUrl)
        ? 'localhost'
        : '0.0.0.0',
    sites: [
      { environment: 'live', port, baseUrl, rateLimitPerMinute: reader.integer('RATE_LIMIT_PER_MINUTE', 0) },
      {
        environment: 'sandbox',
        port: sandboxPort,
        baseUrl: sandboxUrl,
        rateLimitPerMinute: reader.integer('SANDBOX_RATE_LIMIT_PER_MINUTE', 0),
      },
    ],
    dataDir,
    processes: reader.processes([baseUrl, sandboxUrl].every(isLoopbackUrl)),
    databaseUrl: reader.databaseUrl(),
    databaseConnections: reader.integer('DATABASE_CONNECTIONS', 1, 200),
    streamConnections: reader.integer('DATABASE_STREAM_CONNECTIONS', 1, 50),
    keySource: reader.keySource(dataDir),
    auditAnchorFile: reader.anchorFile(dataDir),
    tls,
    trustProxy,
    roles: reader.roles(),
    logLevel: reader.oneOf('LOG_LEVEL', logLevels),
    metrics: reader.has('METRICS_PORT')
      ? { host: reader.text('METRICS_HOST'), port: reader.integer('METRICS_PORT', 0, 65535) }
      : undefined,
    tracing: reader.tracing(),
    searchPath: environment.PATH ?? '',
    secondFactorForTrade: reader.oneOf('REQUIRE_SECOND_FACTOR_FOR_TRADE', ['true', 'false']) === 'true',
    secondFactorForOperators: reader.has('REQUIRE_SECOND_FACTOR_FOR_OPERATORS')
      ? reader.oneOf('REQUIRE_SECOND_FACTOR_FOR_OPERATORS', ['true', 'false']) === 'true'
      : ![baseUrl, sandboxUrl].every(isLoopbackUrl),
    limits: {
      bodyBytes: reader.integer('BODY_LIMIT_BYTES', 1024),
      headerBytes: reader.integer('HEADER_LIMIT_BYTES', 4096),
      requestTimeoutMs: reader.integer('REQUEST_TIMEOUT_MS', 100),
      connections: reader.integer('CONNECTION_LIMIT', 1),
      loginFailuresPerUser: reader.integer('LOGIN_FAILURES_PER_USER', 1),
      loginFailuresPerAddress: reader.integer('LOGIN_FAILURES_PER_ADDRESS', 1),
      clientFailuresPerMinute: reader.integer('CLIENT_FAILURES_PER_MINUTE', 1),
      testHooksPerMinute: reader.integer('TEST_HOOKS_PER_MINUTE', 0),
      passwordChecksAtOnce: reader.integer('PASSWORD_CHECKS_AT_ONCE', 1, 64),
    },
    webhooks: {
      allowLoopback: reader.has('WEBHOOK_ALLOW_LOOPBACK')
        ? reader.oneOf('WEBHOOK_ALLOW_LOOPBACK', ['true', 'false']) === 'true'
        : [baseUrl, sandboxUrl].every(isLoopbackUrl),
      ports: reader.ports('WEBHOOK_PORTS'),
      dnsServers: reader.list('WEBHOOK_DNS_SERVERS'),
      certificateAuthority: reader.has('WEBHOOK_CA_FILE') ? reader.file('WEBHOOK_CA_FILE') : undefined,
      attemptDays: reader.retentionDays('ATTEMPT_RETENTION_DAYS'),
      eventDays: reader.retentionDays('EVENT_RETENTION_DAYS'),
    },
    mail: reader.mail(dataDir),
  }
  reader.finish()
  return { ...config, settings: reader.describe(config) }
}

/** What `countersign listen` takes from the environment. */
export function readListenSettings(environment: NodeJS.ProcessEnv = process.env) {
  return { dataDir: environment.DATA_DIR || './data', clientSecret: environment.COUNTERSIGN_CLIENT_SECRET }
}

/** Development is a gateway that only this machine can reach. */
export function isDevelopment(config: Config): boolean {
  return config.sites.every((site) => isLoopbackUrl(site.baseUrl))
}

export function isLoopbackUrl(url: string): boolean {
  return url === '' || isLoopbackHost(new URL(url).hostname)
}

export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function parseMailUrl(text: string): Omit<MailServer, 'certificateAuthority'> | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  if (url.search !== '' || url.hash !== '') return undefined
  const secure = url.protocol === 'smtps:'
  try {
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
      secure,
      requireTls: !isLoopbackHost(url.hostname),
      user: url.username === '' ? undefined : decodeURIComponent(url.username),
      password: url.password === '' ? undefined : decodeURIComponent(url.password),
    }
  } catch {
    return undefined
  }
}

class SettingsReader {
  readonly #environment: NodeJS.ProcessEnv
  readonly #problems: string[] = []

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment
  }

  has(name: string): boolean {
    return (this.#environment[name] ?? '') !== ''
  }

  text(name: string): string {
    const fallback = settings.find((setting) => setting.name === name)!.fallback
    return this.has(name) ? this.#environment[name]! : fallback
  }

  /** What is in force where nothing was set and the default follows from something else is named here. */
  describe(config: Omit<Config, 'settings'>): SettingInForce[] {
    const { host, sites, processes, keySource, secondFactorForOperators, webhooks } = config
    const derived: Record<string, string> = {
      SANDBOX_PORT: String(sites[1]!.port),
      HOST: host,
      PROCESSES: String(processes),
      SECRET_KEY_FILE: keySource.kind === 'file' ? keySource.path : '',
      REQUIRE_SECOND_FACTOR_FOR_OPERATORS: String(secondFactorForOperators),
      WEBHOOK_ALLOW_LOOPBACK: String(webhooks.allowLoopback),
    }
    return settings.map((setting) => {
      const isSet = this.has(setting.name)
      const text = isSet ? this.text(setting.name) : (derived[setting.name] ?? setting.fallback)
      return { ...setting, value: withoutSecret(text, setting.secret), source: isSet ? 'environment' : 'default' }
    })
  }

  integer(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const text = this.text(name)
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    this.#problem(name, `must be a whole number ${range}, not "${text}"`)
    return least
  }

  /** In development one is enough, and starts sooner. */
  processes(isDevelopment: boolean): number {
    const text = this.has('PROCESSES') ? this.text('PROCESSES') : isDevelopment ? '1' : 'auto'
    if (text === 'auto') return Math.min(mostProcesses, availableParallelism())
    if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= mostProcesses) return Number(text)
    this.#problem('PROCESSES', `must be auto or a whole number from 1 to ${mostProcesses}, not "${text}"`)
    return 1
  }

  /** Nothing may leave while it still has attempts before it. */
  retentionDays(name: string): number {
    const text = this.text(name)
    if (/^\d+$/.test(text) && Number(text) >= leastRetentionDays) return Number(text)
    const why = 'a delivery is tried for about 70 hours, and must not leave before its last attempt'
    this.#problem(name, `must be at least ${leastRetentionDays} days, not "${text}": ${why}`)
    return leastRetentionDays
  }

  oneOf(name: string, allowed: readonly string[]): string {
    const text = this.text(name)
    if (!allowed.includes(text)) this.#problem(name, `must be one of ${allowed.join(', ')}, not "${text}"`)
    return text
  }

  list(name: string): string[] {
    return this.text(name)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  }

  refuseSharedPort(port: number, sandboxPort: number): void {
    if (sandboxPort > 65_535) this.#problem('SANDBOX_PORT', 'must be set, because PORT is the last one there is')
    if (port === sandboxPort && port !== 0) this.#problem('SANDBOX_PORT', 'must differ from PORT')
  }

  /** IP addresses, with a prefix length where a range is meant. */
  addresses(name: string): string[] {
    const found = this.list(name)
    const wrong = found.find((text) => {
      const [address, prefix, ...rest] = text.split('/')
      const bits = isIP(address!) === 6 ? 128 : 32
      const isRange = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
      return isIP(address!) === 0 || !isRange || rest.length > 0
    })
    if (wrong !== undefined)
      this.#problem(name, `must be IP addresses or CIDR ranges separated by commas, not "${wrong}"`)
    return found
  }

  roles(): Role[] {
    const found = this.list('ROLES')
    const unknown = found.filter((role) => !(roles as readonly string[]).includes(role))
    if (unknown.length > 0 || found.length === 0) {
      this.#problem('ROLES', `must be api, worker or both, not "${this.text('ROLES')}"`)
    }
    return found as Role[]
  }

  baseUrl(name: string, secure: boolean): string {
    if (!this.has(name)) return ''
    const text = this.text(name).replace(/\/$/, '')
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text) {
      this.#problem(name, `must be an origin such as https://api.example.com, not "${text}"`)
      return ''
    }
    if (isLoopbackHost(url.hostname)) return text
    if (url.protocol !== 'https:') {
      this.#problem(name, 'must begin with https:// because it is not a loopback address')
    } else if (!secure) {
      this.#problem(
        name,
        'is https: set TLS_CERT_FILE and TLS_KEY_FILE, or name the proxy that ends TLS in TRUST_PROXY',
      )
    }
    return text
  }

  tls(): Config['tls'] {
    const files = ['TLS_CERT_FILE', 'TLS_KEY_FILE']
    if (!files.some((name) => this.has(name))) return undefined
    const [cert, key] = files.map((name) => this.file(name))
    return cert !== undefined && key !== undefined ? { cert, key } : undefined
  }

  ports(name: string): number[] {
    const ports = this.list(name).map(Number)
    if (!ports.every((port) => Number.isInteger(port) && port > 0 && port < 65536))
      this.#problem(name, 'must be port numbers separated by commas')
    return ports
  }

  file(name: string): string | undefined {
    const path = this.text(name)
    if (path === '') this.#problem(name, 'is missing: TLS needs both TLS_CERT_FILE and TLS_KEY_FILE')
    else if (!existsSync(path)) this.#problem(name, `names a file that does not exist: ${path}`)
    else return readFileSync(path, 'utf8')
    return undefined
  }

  /** Without an address the other names are not ours to judge: they may be meant for another program. */
  tracing(): TracingConfig | undefined {
    if (!this.has('OTEL_EXPORTER_OTLP_ENDPOINT')) return undefined
    const config = {
      url: `${this.text('OTEL_EXPORTER_OTLP_ENDPOINT').replace(/\/+$/, '')}/v1/traces`,
      headers: this.headers('OTEL_EXPORTER_OTLP_HEADERS'),
      serviceName: this.text('OTEL_SERVICE_NAME'),
      sampler: this.oneOf('OTEL_TRACES_SAMPLER', samplers),
      sampledShare: this.share('OTEL_TRACES_SAMPLER_ARG'),
    }
    if (!URL.canParse(config.url) || !/^https?:$/.test(new URL(config.url).protocol))
      this.#problem('OTEL_EXPORTER_OTLP_ENDPOINT', 'must be an address such as http://localhost:4318')
    return config
  }

  /** As OpenTelemetry writes them, percent-encoded. They hold credentials: a mistake is not repeated. */
  headers(name: string): Record<string, string> {
    try {
      const pairs = this.list(name).map((pair) =>
        pair.split(/=(.*)/s, 2).map((part) => decodeURIComponent(part.trim())),
      )
      const headers = new Headers(pairs as [string, string][])
      return Object.fromEntries(headers)
    } catch {
      this.#problem(name, 'must be name=value, several separated by commas')
      return {}
    }
  }

  share(name: string): number {
    const text = this.text(name)
    if (/^(0(\.\d+)?|1(\.0+)?)$/.test(text)) return Number(text)
    this.#problem(name, `must be a number from 0 to 1, not "${text}"`)
    return 1
  }

  databaseUrl(): string | undefined {
    if (!this.#hasDatabase()) return undefined
    if (this.has('DATABASE_URL') && this.has('DATABASE_URL_FILE'))
      this.#problem('DATABASE_URL', 'and DATABASE_URL_FILE are both set: keep one')
    const name = this.has('DATABASE_URL') ? 'DATABASE_URL' : 'DATABASE_URL_FILE'
    const text = this.has('DATABASE_URL') ? this.text(name) : this.file(name)?.trim()
    if (text !== undefined && !/^postgres(ql)?:\/\//.test(text)) this.#problem(name, 'must begin with postgresql://')
    return text
  }

  #hasDatabase(): boolean {
    return this.has('DATABASE_URL') || this.has('DATABASE_URL_FILE')
  }

  mail(dataDir: string): MailConfig {
    const server = this.mailServer()
    if (this.#hasMailServer() && !this.has('MAIL_FROM')) this.#problem('MAIL_FROM', 'must be set with SMTP_URL')
    return { from: this.sender('MAIL_FROM'), server, outbox: join(dataDir, 'outbox') }
  }

  /** It holds a password: a mistake is not repeated. */
  mailServer(): MailServer | undefined {
    if (!this.#hasMailServer()) return undefined
    if (this.has('SMTP_URL') && this.has('SMTP_URL_FILE'))
      this.#problem('SMTP_URL', 'and SMTP_URL_FILE are both set: keep one')
    const name = this.has('SMTP_URL') ? 'SMTP_URL' : 'SMTP_URL_FILE'
    const text = this.has('SMTP_URL') ? this.text(name) : this.file(name)?.trim()
    const certificateAuthority = this.has('SMTP_CA_FILE') ? this.file('SMTP_CA_FILE') : undefined
    if (text === undefined) return undefined
    const server = parseMailUrl(text)
    if (!server) this.#problem(name, 'must be an address such as smtp://user:password@mail.example.com:587')
    return server && { ...server, certificateAuthority }
  }

  #hasMailServer(): boolean {
    return this.has('SMTP_URL') || this.has('SMTP_URL_FILE')
  }

  sender(name: string): MailConfig['from'] {
    const text = this.text(name) || 'Countersign <no-reply@localhost>'
    const [, words, bracketed] = /^([^<>"\r\n]*)<([^<>]*)>$/.exec(text) ?? []
    const address = (bracketed ?? text).trim()
    if (!/^[\w.+-]{1,64}@[A-Za-z0-9.-]{1,190}$/.test(address))
      this.#problem(name, 'must be Name <address>, or an address alone')
    return { name: words?.trim() ?? '', address }
  }

  anchorFile(dataDir: string): string | undefined {
    const path = this.has('AUDIT_ANCHOR_FILE') ? this.text('AUDIT_ANCHOR_FILE') : join(dataDir, 'audit.anchors')
    return path === 'off' ? undefined : path
  }

  keySource(dataDir: string): KeySource {
    if (!this.has('SECRET_KEY')) {
      const path = this.has('SECRET_KEY_FILE') ? this.text('SECRET_KEY_FILE') : join(dataDir, 'secret.keys')
      if (this.has('SECRET_KEY_FILE') && !existsSync(path)) {
        this.#problem(
          'SECRET_KEY_FILE',
          `names a file that does not exist: ${path}. Make one with "countersign keys generate"`,
        )
      }
      if (this.#hasDatabase() && !this.has('SECRET_KEY_FILE')) {
        this.#problem('SECRET_KEY', 'or SECRET_KEY_FILE must be set with DATABASE_URL, the same on every node')
      }
      return { kind: 'file', path }
    }
    if (this.has('SECRET_KEY_FILE')) this.#problem('SECRET_KEY', 'and SECRET_KEY_FILE are both set: keep one')
    const keys = this.list('SECRET_KEY').map((text) => parseKey(text))
    if (keys.some((key) => !key))
      this.#problem('SECRET_KEY', 'must be 32 bytes in base64 or hex; several are separated by commas')
    return { kind: 'environment', keys: keys.filter((key) => key !== undefined) }
  }

  finish(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems)
  }

  #problem(name: string, what: string): void {
    this.#problems.push(`${name} ${what}.`)
  }
}
