import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { issueCertificate, makeCertificate } from '../../test/support/certificate.ts'
import { day, hour } from '../clock.ts'
import { generateKey, printKey } from '../crypto/vault.ts'
import { isLoopbackHost } from '../network/loopback.ts'
import { retryWaitsMs } from '../webhooks/outbound/retry-schedule.ts'
import { isDevelopment, readConfig } from './config.ts'
import { ConfigError } from './read.ts'
import { hidden, withoutSecret } from './secret-part.ts'
import { leastRetentionDays, settings } from './table.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-config-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function problemsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

/** One wrong value a setting; each must be told, whatever else is wrong. */
const mistakes: Record<string, string> = {
  PORT: '70000',
  SANDBOX_PORT: '-1',
  INTERNAL_PORT: 'next',
  BASE_URL: 'http://api.example.com',
  SANDBOX_URL: 'ftp://sandbox.example.com',
  PROCESSES: '0',
  DATABASE_URL: 'mysql://x',
  DATABASE_CONNECTIONS: '0',
  PARTS: '0',
  DATABASE_STREAM_CONNECTIONS: '51',
  SECRET_KEY: 'short',
  TLS_CERT_FILE: '/nowhere/cert.pem',
  TLS_KEY_FILE: '/nowhere/key.pem',
  ROLES: 'api,boss',
  LOG_LEVEL: 'loud',
  RATE_LIMIT_PER_MINUTE: '1.5',
  SANDBOX_RATE_LIMIT_PER_MINUTE: 'many',
  BODY_LIMIT_BYTES: '10',
  HEADER_LIMIT_BYTES: '1e5',
  REQUEST_TIMEOUT_MS: '0x10',
  LOGIN_FAILURES_PER_USER: '0',
  LOGIN_FAILURES_PER_ADDRESS: ' 5',
  CLIENT_FAILURES_PER_MINUTE: '99999999999999999999',
  TEST_HOOKS_PER_MINUTE: '-1',
  PASSWORD_CHECKS_AT_ONCE: '65',
  ATTEMPT_RETENTION_DAYS: '3',
  EVENT_RETENTION_DAYS: '0',
}

test('PROCESSES is a number or auto, one for each core, which is the default where others can reach the gateway', () => {
  const served = {
    BASE_URL: 'https://api.example.com',
    SANDBOX_URL: 'https://sandbox.example.com',
    TRUST_PROXY: '10.0.0.5',
  }
  const cores = Math.min(64, availableParallelism())
  assert.equal(readConfig({}).processes, 1)
  assert.equal(readConfig({ PROCESSES: 'auto' }).processes, cores)
  assert.equal(readConfig(served).processes, cores)
  assert.equal(readConfig({ ...served, PROCESSES: '3' }).processes, 3)
  for (const text of ['0', 'abc', '-1', '1.5', '65', 'AUTO', ' 2'])
    assert.deepEqual(problemsOf({ PROCESSES: text }), [
      `PROCESSES must be auto or a whole number from 1 to 64, not "${text}".`,
    ])
})

test('what is kept for a shorter time than a delivery is tried is refused, with the setting, the least value and why', () => {
  for (const name of ['EVENT_RETENTION_DAYS', 'ATTEMPT_RETENTION_DAYS']) {
    for (const text of ['3', '0', '1.5', 'a week'])
      assert.deepEqual(problemsOf({ [name]: text }), [
        `${name} must be at least 4 days, not "${text}": a delivery is tried for about 70 hours, and must not leave before its last attempt.`,
      ])
    assert.deepEqual(problemsOf({ [name]: '4' }), [])
  }
  const longestMs = retryWaitsMs.reduce<number>((sum, waitMs) => sum + waitMs * 1.1, 0)
  assert.ok((leastRetentionDays - 1) * day < longestMs && longestMs < leastRetentionDays * day)
})

test('without any setting the gateway is for this machine alone, with the limits of the documentation', () => {
  const config = readConfig({})
  assert.equal(config.host, 'localhost')
  assert.deepEqual(
    config.sites.map(({ environment, port, baseUrl, rateLimitPerMinute }) => [
      environment,
      port,
      baseUrl,
      rateLimitPerMinute,
    ]),
    [
      ['live', 8080, '', 120],
      ['sandbox', 8081, '', 60],
    ],
  )
  assert.equal(config.limits.bodyBytes, 64 * 1024)
  assert.equal(config.limits.headerBytes, 16 * 1024)
  assert.equal(config.limits.loginFailuresPerUser, 5)
  assert.equal(config.limits.loginFailuresPerAddress, 20)
  assert.deepEqual(config.keySource, { kind: 'file', path: join('data', 'secret.keys') })
  assert.ok(isDevelopment(config))
})

test('every mistake is told at once, each by the name of its setting', () => {
  const problems = problemsOf(mistakes)
  for (const name of Object.keys(mistakes)) {
    assert.ok(
      problems.some((problem) => problem.startsWith(`${name} `)),
      name,
    )
  }
})

test('any set of mistakes gives exactly the problems of each', () => {
  const independent = Object.keys(mistakes).filter(
    (name) => !/^(TLS_|BASE_|SANDBOX_URL|DATABASE_URL|SECRET)/.test(name),
  )
  fc.assert(
    fc.property(fc.subarray(independent), (chosen) => {
      const problems = problemsOf(Object.fromEntries(chosen.map((name) => [name, mistakes[name]])))
      assert.deepEqual(problems.map((problem) => problem.split(' ')[0]).sort(), chosen.toSorted())
    }),
  )
})

test('the message counts the mistakes and lists them', () => {
  assert.throws(
    () => readConfig({ PORT: 'x' }),
    /a mistake:\n {2}- PORT must be a whole number from 0 to 65535, not "x"\.$/,
  )
  assert.throws(() => readConfig({ PORT: 'x', LOG_LEVEL: 'y' }), /2 mistakes:/)
})

test('an empty setting is a setting that was not made', () => {
  const empty = Object.fromEntries(settings.map(({ name }) => [name, '']))
  assert.deepEqual(readConfig(empty), readConfig({}))
})

test('a public address needs https, and https needs certificates or a named proxy', () => {
  assert.match(problemsOf({ BASE_URL: 'http://api.example.com' })[0]!, /^BASE_URL must begin with https/)
  assert.match(
    problemsOf({ BASE_URL: 'https://api.example.com' })[0]!,
    /^BASE_URL is https: set TLS_CERT_FILE/,
  )
  const proxied = readConfig({ BASE_URL: 'https://api.example.com/', TRUST_PROXY: '10.0.0.1, 10.1.0.0/16' })
  assert.equal(proxied.sites[0]?.baseUrl, 'https://api.example.com')
  assert.deepEqual(proxied.trustProxy, ['10.0.0.1', '10.1.0.0/16'])
  assert.equal(proxied.host, '0.0.0.0')
  assert.equal(isDevelopment(proxied), false)
})

test('a base URL is an origin and nothing more', () => {
  for (const wrong of [
    'api.example.com',
    'https://a.example/path',
    'https://a.example?x',
    'https://u:p@a.example',
    'file:///x',
    'https://a.example#',
  ]) {
    assert.match(
      problemsOf({ BASE_URL: wrong, TRUST_PROXY: '10.0.0.1' })[0] ?? '',
      /^BASE_URL must be an origin/,
      wrong,
    )
  }
})

test('TLS needs both files, and reads them', () => {
  const cert = join(folder, 'cert.pem')
  writeFileSync(cert, 'PEM')
  assert.match(problemsOf({ TLS_CERT_FILE: cert })[0]!, /^TLS_KEY_FILE is missing/)
  assert.match(problemsOf({ TLS_KEY_FILE: cert })[0]!, /^TLS_CERT_FILE is missing/)
  assert.deepEqual(readConfig({ TLS_CERT_FILE: cert, TLS_KEY_FILE: cert }).tls, { cert: 'PEM', key: 'PEM' })
})

test('a file that cannot be read is told by where it was looked for and why, whatever it is for', () => {
  const fit = join(folder, 'fit.pem')
  writeFileSync(fit, 'PEM')
  const readers = {
    TLS_CERT_FILE: { TLS_KEY_FILE: fit },
    WEBHOOK_CA_FILE: {},
    PROVIDER_CA_FILE: {},
    DATABASE_URL_FILE: { SECRET_KEY: printKey(generateKey()) },
    SMTP_URL_FILE: { MAIL_FROM: 'notices@broker.example' },
    SMTP_CA_FILE: { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'notices@broker.example' },
    AUDIT_PUSH_CA_FILE: { AUDIT_PUSH_URL: 'https://localhost' },
  }
  for (const [name, others] of Object.entries(readers)) {
    const told = (path: string) => problemsOf({ ...others, [name]: path })
    assert.deepEqual(told('no-such.pem'), [
      `${name} names a file that does not exist: ${resolve('no-such.pem')}.`,
    ])
    assert.deepEqual(told(join(fit, 'below')), [
      `${name} names a file that does not exist: ${join(fit, 'below')}.`,
    ])
    assert.deepEqual(told(folder), [`${name} names a folder where a file is expected: ${folder}.`])
  }
  const keyFile = problemsOf({ SECRET_KEY_FILE: 'no.keys' })
  assert.deepEqual(keyFile, [
    `SECRET_KEY_FILE names a file that does not exist: ${resolve('no.keys')}. Put it back; a new installation makes one with "countersign keys generate".`,
  ])
})

test('a file of certificate authorities holds certificates: a key, half of one or nothing is refused at the start', () => {
  const file = join(folder, 'authority.pem')
  const { cert, key } = makeCertificate(['localhost'], new Date(), new Date(Date.now() + hour))
  const own = join(folder, 'own.pem')
  writeFileSync(own, cert)
  const readers = {
    INTERNAL_TLS_CLIENT_CA_FILE: { INTERNAL_TLS_CERT_FILE: own, INTERNAL_TLS_KEY_FILE: own },
    WEBHOOK_CA_FILE: {},
    PROVIDER_CA_FILE: {},
    SMTP_CA_FILE: { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'notices@broker.example' },
    AUDIT_PUSH_CA_FILE: { AUDIT_PUSH_URL: 'https://localhost' },
  }
  for (const [name, others] of Object.entries(readers)) {
    const told = (held: string) => {
      writeFileSync(file, held)
      return problemsOf({ ...others, [name]: file })
    }
    for (const held of ['', key, `${cert}\n${cert.slice(0, -40)}`])
      assert.deepEqual(told(held), [`${name} names a file that does not hold certificates in PEM: ${file}.`])
    for (const held of [cert, `# ours\n${cert}\n${cert}`]) assert.deepEqual(told(held), [])
  }
})

test('the audit log is pushed over TLS, or to this machine; a token in the address is never shown', () => {
  const addresses = {
    'syslog+tls://logs.example.com': { kind: 'syslog', host: 'logs.example.com', port: 6514 },
    'syslog+tls://[2001:db8::1]:7000/': { kind: 'syslog', host: '2001:db8::1', port: 7000 },
    'https://logs.example.com/in?channel=7': {
      ...{ kind: 'http', url: 'https://logs.example.com/in?channel=7', host: 'logs.example.com' },
    },
    'http://127.0.0.1:8088': { kind: 'http', url: 'http://127.0.0.1:8088/', host: '127.0.0.1:8088' },
  }
  for (const [AUDIT_PUSH_URL, target] of Object.entries(addresses))
    assert.deepEqual(readConfig({ AUDIT_PUSH_URL }).auditPush?.target, target)
  const wrong = [
    ...[
      'http://logs.example.com',
      'syslog://logs.example.com',
      'tcp://x',
      'logs.example.com:6514',
      'https://',
    ],
    ...[
      'syslog+tls://',
      'syslog+tls://a/path',
      'syslog+tls://a?x',
      'https://u:hunter2@a',
      'https://a#hunter2',
    ],
  ]
  for (const AUDIT_PUSH_URL of wrong) {
    const [problem, ...others] = problemsOf({ AUDIT_PUSH_URL })
    assert.match(problem ?? '', /^AUDIT_PUSH_URL must be an address such as/, AUDIT_PUSH_URL)
    assert.deepEqual(others, [])
    assert.doesNotMatch(problem!, /hunter2/)
  }
  const AUDIT_PUSH_URL = 'https://logs.example.com/hunter2?token=hunter2'
  assert.doesNotMatch(JSON.stringify(readConfig({ AUDIT_PUSH_URL }).settings), /hunter2/)
  const file = join(folder, 'authorization')
  writeFileSync(file, 'Splunk a-token\n')
  const known = readConfig({ AUDIT_PUSH_URL, AUDIT_PUSH_AUTHORIZATION_FILE: file })
  assert.equal(known.auditPush?.authorization, 'Splunk a-token')
  writeFileSync(file, 'Splunk\nhunter2')
  assert.deepEqual(problemsOf({ AUDIT_PUSH_URL, AUDIT_PUSH_AUTHORIZATION_FILE: file }), [
    'AUDIT_PUSH_AUTHORIZATION_FILE must be the value of a header, on one line.',
  ])
  assert.match(
    problemsOf({ AUDIT_PUSH_URL, AUDIT_PUSH_KEY_FILE: file })[0]!,
    /^AUDIT_PUSH_CERT_FILE must be set/,
  )
  assert.match(problemsOf({ AUDIT_PUSH_URL, AUDIT_PUSH_URL_FILE: file }).join(), /both set: keep one/)
  assert.equal(readConfig({}).auditPush, undefined)
})

test('a setting that is kept back is not judged: what another program is told is not our mistake', () => {
  assert.deepEqual(problemsOf({ SMTP_CA_FILE: '/nowhere', OTEL_TRACES_SAMPLER_ARG: 'x' }), [])
  assert.equal(
    problemsOf({ SMTP_URL: 'smtp://localhost', MAIL_FROM: 'a@b.example', SMTP_CA_FILE: '/nowhere' }).length,
    1,
  )
})

test('what a default follows from is told, and the default is not', () => {
  assert.deepEqual(problemsOf({ PORT: 'x' }), ['PORT must be a whole number from 0 to 65535, not "x".'])
  assert.deepEqual(problemsOf({ PORT: '70000' }).length, 1)
  assert.deepEqual(problemsOf({ BASE_URL: 'nowhere', TRUST_PROXY: '10.0.0.1' }).length, 1)
})

test('keys come from one place, and a database of one’s own needs keys of one’s own', () => {
  const [one, two] = [generateKey(), generateKey()]
  const both = readConfig({ SECRET_KEY: `${printKey(one)}, ${two.bytes.toString('hex')}` })
  assert.deepEqual(both.keySource, { kind: 'environment', keys: [one, two] })
  const path = join(folder, 'keys')
  assert.match(problemsOf({ SECRET_KEY_FILE: path })[0]!, /^SECRET_KEY_FILE names a file that does not exist/)
  writeFileSync(path, '')
  assert.deepEqual(readConfig({ SECRET_KEY_FILE: path }).keySource, { kind: 'file', path })
  assert.match(problemsOf({ SECRET_KEY: printKey(one), SECRET_KEY_FILE: path })[0]!, /both set/)
  const SECRET_KEY_COMMAND = 'vault kv get -field=keys secret/countersign'
  assert.deepEqual(readConfig({ SECRET_KEY_COMMAND }).keySource, {
    kind: 'command',
    line: SECRET_KEY_COMMAND,
  })
  for (const other of [{ SECRET_KEY: printKey(one) }, { SECRET_KEY_FILE: path }])
    assert.match(
      problemsOf({ SECRET_KEY_COMMAND, ...other })[0]!,
      /SECRET_KEY_COMMAND are both set: keep one/,
    )
  assert.ok(readConfig({ SECRET_KEY_COMMAND, DATABASE_URL: 'postgresql://db/x' }))
  assert.match(
    problemsOf({ DATABASE_URL: 'postgresql://db/x' })[0]!,
    /^SECRET_KEY, SECRET_KEY_FILE or SECRET_KEY_COMMAND must be set/,
  )
})

test('a mistake never repeats a secret', () => {
  const secret = 'hunter2-not-a-key'
  const problems = problemsOf({ SECRET_KEY: secret, DATABASE_URL: `mysql://user:${secret}@db` })
  assert.equal(problems.length, 2)
  for (const problem of problems) assert.ok(!problem.includes(secret))
})

test('only this machine is loopback', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]']) assert.ok(isLoopbackHost(host), host)
  for (const host of [
    'localhost.example.com',
    '127.0.0.1.example.com',
    '128.0.0.1',
    '[::]',
    '0.0.0.0',
    '10.0.0.1',
    '',
  ]) {
    assert.equal(isLoopbackHost(host), false, host)
  }
})

test('ports and proxies that cannot work are mistakes too, told before anything starts', () => {
  assert.match(problemsOf({ PORT: '65535' })[0] ?? '', /^SANDBOX_PORT /)
  assert.match(problemsOf({ PORT: '8080', SANDBOX_PORT: '8080' })[0] ?? '', /^SANDBOX_PORT /)
  assert.match(problemsOf({ PORT: '65534' })[0] ?? '', /^INTERNAL_PORT must be set/)
  for (const ports of [{ INTERNAL_PORT: '8081' }, { SANDBOX_PORT: '8082' }, { INTERNAL_PORT: '8080' }])
    assert.match(problemsOf(ports)[0] ?? '', /^INTERNAL_PORT must differ/)
  for (const TRUST_PROXY of ['proxy.internal', '10.0.0.1/99', '10.0.0', '300.1.1.1']) {
    assert.match(problemsOf({ TRUST_PROXY })[0] ?? '', /^TRUST_PROXY /, TRUST_PROXY)
  }
})

test('every setting is documented once', () => {
  const names = settings.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const name of Object.keys(mistakes)) assert.ok(names.includes(name), name)
})

test('the address of the database may stand in a file, and then nowhere else', () => {
  const path = join(folder, 'database-url')
  const SECRET_KEY = printKey(generateKey())
  assert.match(
    problemsOf({ SECRET_KEY, DATABASE_URL_FILE: path })[0]!,
    /^DATABASE_URL_FILE names a file that does not/,
  )
  writeFileSync(path, 'postgresql://user:pw@db/x\n')
  assert.equal(readConfig({ SECRET_KEY, DATABASE_URL_FILE: path }).databaseUrl, 'postgresql://user:pw@db/x')
  assert.match(
    problemsOf({ DATABASE_URL_FILE: path })[0]!,
    /^SECRET_KEY, SECRET_KEY_FILE or SECRET_KEY_COMMAND must be set/,
  )
  const both = { SECRET_KEY, DATABASE_URL_FILE: path, DATABASE_URL: 'postgresql://db/y' }
  assert.match(problemsOf(both)[0]!, /^DATABASE_URL and DATABASE_URL_FILE are both set/)
  writeFileSync(path, 'mysql://user:hunter2@db/x\n')
  const [problem] = problemsOf({ SECRET_KEY, DATABASE_URL_FILE: path })
  assert.equal(problem, 'DATABASE_URL_FILE must begin with postgresql://.')
})

test('traces have an address, or nothing about them is read', () => {
  assert.equal(readConfig({ OTEL_TRACES_SAMPLER: 'of another program' }).tracing, undefined)
  const headers = 'authorization=Basic%20YTpi, x-team = ops=1'
  const { tracing } = readConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
    OTEL_EXPORTER_OTLP_HEADERS: headers,
    OTEL_SERVICE_NAME: 'gateway-7',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  assert.deepEqual(tracing, {
    url: 'https://collector.example/otlp/v1/traces',
    headers: { authorization: 'Basic YTpi', 'x-team': 'ops=1' },
    serviceName: 'gateway-7',
    sampler: 'parentbased_traceidratio',
    sampledShare: 0.25,
  })
})

test('mistakes about traces are told without the credentials in them', () => {
  const problems = problemsOf({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization: precious',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
  })
  const names = ['ENDPOINT', 'HEADERS', 'SAMPLER', 'SAMPLER_ARG']
  assert.deepEqual(
    problems.map((problem) => /^OTEL_(?:EXPORTER_OTLP|TRACES)_(\S+) must/.exec(problem)?.[1]).sort(),
    names.toSorted(),
  )
  assert.ok(!problems.join().includes('precious'))
})

/** A file's name is no secret; what is in it is never shown. */
const mustHide = /KEY|SECRET|PASSWORD|HEADERS|TOKEN|CREDENTIAL|URL|ENDPOINT|DSN/

test('a setting whose name sounds like a secret says what of it nobody is shown', () => {
  const sounding = settings.filter(({ name }) => mustHide.test(name) && !name.endsWith('_FILE'))
  assert.ok(sounding.length >= 5)
  assert.deepEqual(
    problemsOf({ BASE_URL: 'https://ada:hunter2@api.example.com', TRUST_PROXY: '10.0.0.1' }).length,
    1,
  )
  assert.deepEqual(
    sounding.filter(({ name }) => !isHarmless.includes(name)).filter(({ secret }) => secret === undefined),
    [],
    'say `secret` in the table of settings',
  )
})

/** Sound like secrets: a number, and origins, which are refused with anything beside host and port. */
const origins = ['BASE_URL', 'SANDBOX_URL', 'MTLS_URL', 'SANDBOX_MTLS_URL']
const isHarmless: readonly string[] = ['PASSWORD_CHECKS_AT_ONCE', ...origins]

test('the settings in force say where each comes from, and hold no secret in any spelling', () => {
  const key = generateKey().bytes.toString('hex')
  const config = readConfig({
    DATABASE_URL:
      'postgresql://ada:hunter2@one:5432,two/db?sslmode=require&password=hunter2&sslpassword=hunter2',
    SECRET_KEY: key,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://ada:hunter2@collector.example/hunter2?api-key=hunter2',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2',
    LOG_LEVEL: 'warn',
  })
  assert.deepEqual(
    config.settings.map(({ name }) => name),
    settings.map(({ name }) => name),
  )
  const printed = JSON.stringify(config.settings)
  assert.doesNotMatch(printed, /hunter2/)
  assert.equal(printed.includes(key), false)
  const of = (name: string) => {
    const found = config.settings.find((setting) => setting.name === name)!
    return [found.value, found.source]
  }
  assert.deepEqual(of('DATABASE_URL'), [
    `postgresql://${hidden}@one:5432,two/db?sslmode=require&${hidden}&${hidden}`,
    'environment',
  ])
  assert.deepEqual(of('SECRET_KEY'), [hidden, 'environment'])
  assert.deepEqual(of('OTEL_EXPORTER_OTLP_HEADERS'), [hidden, 'environment'])
  assert.deepEqual(of('LOG_LEVEL'), ['warn', 'environment'])
  assert.deepEqual(of('SANDBOX_PORT'), ['8081', 'default'])
  assert.deepEqual(of('SECRET_KEY_FILE'), ['', 'default'])
})

test('an address whose password breaks the address is not shown at all', () => {
  for (const text of [
    'postgresql://ada:hun/ter@host/db',
    'postgresql://ada:hun?ter@host/db',
    'postgresql://ada:hun#ter@host/db',
    'postgresql://ada:hun@ter@host/db',
    'postgresql://host/db?password=a@b',
    'ada:hunter2',
  ]) {
    assert.equal(withoutSecret(text, 'credentials'), hidden, text)
  }
  assert.equal(
    withoutSecret('postgresql://h/d?password=hun&ter=2', 'credentials'),
    `postgresql://h/d?${hidden}&${hidden}`,
  )
  fc.assert(
    fc.property(fc.string({ minLength: 6 }), (password) => {
      const shown = withoutSecret(`postgresql://u:${password}@h/d`, 'credentials')
      assert.ok(shown === hidden || shown === `postgresql://${hidden}@h/d`, shown)
    }),
  )
})

test('a mail server has an address, a sender, and TLS unless it is on this machine; without one messages are files', () => {
  const files = readConfig({ DATA_DIR: '/data' }).mail
  assert.deepEqual(files, {
    from: { name: 'Countersign', address: 'no-reply@localhost' },
    server: undefined,
    outbox: join('/data', 'outbox'),
  })
  const mailOf = (SMTP_URL: string) =>
    readConfig({ SMTP_URL, MAIL_FROM: 'Broker, Inc. <notices@broker.example>' }).mail
  const { from, server } = mailOf('smtp://gate%40way:p%3Ass@mail.example.com')
  assert.deepEqual(from, { name: 'Broker, Inc.', address: 'notices@broker.example' })
  assert.deepEqual(server, {
    host: 'mail.example.com',
    port: 587,
    secure: false,
    requireTls: true,
    user: 'gate@way',
    password: 'p:ss',
    certificateAuthority: undefined,
  })
  const shapeOf = (url: string) => {
    const { host, port, secure, requireTls } = mailOf(url).server!
    return [host, port, secure, requireTls]
  }
  assert.deepEqual(shapeOf('smtps://mail.example.com/'), ['mail.example.com', 465, true, true])
  assert.deepEqual(shapeOf('smtp://127.0.0.1:2525'), ['127.0.0.1', 2525, false, false])
  assert.deepEqual(shapeOf('smtp://[::1]:2525'), ['::1', 2525, false, false])
  assert.deepEqual(shapeOf('smtp://127.0.0.1.example.com'), ['127.0.0.1.example.com', 587, false, true])
})

test('the address of the mail server may stand in a file, and then nowhere else', () => {
  const path = join(folder, 'smtp-url')
  writeFileSync(path, 'smtps://user:pw@mail.example.com\n')
  const file = { SMTP_URL_FILE: path, MAIL_FROM: 'notices@broker.example' }
  assert.equal(readConfig(file).mail.server?.password, 'pw')
  assert.match(
    problemsOf({ ...file, SMTP_URL: 'smtp://localhost' })[0]!,
    /^SMTP_URL and SMTP_URL_FILE are both set/,
  )
  assert.match(
    problemsOf({ ...file, SMTP_URL_FILE: `${path}-none` })[0]!,
    /^SMTP_URL_FILE names a file that does not/,
  )
})

test('mistakes about mail are told without the password', () => {
  const MAIL_FROM = 'notices@broker.example'
  assert.match(problemsOf({ SMTP_URL: 'smtp://localhost' })[0]!, /^MAIL_FROM must be set with SMTP_URL/)
  for (const SMTP_URL of [
    'mail.example.com',
    'http://u:hunter2@mail.example.com',
    'smtp://u:hunter2@mail.example.com/path',
    'smtp://u:hunter2@mail.example.com?tls=no',
    'smtp://u:hunter2%zz@mail.example.com',
    'smtp://',
  ]) {
    const problems = problemsOf({ SMTP_URL, MAIL_FROM })
    assert.deepEqual(
      problems,
      ['SMTP_URL must be an address such as smtp://user:password@mail.example.com:587.'],
      SMTP_URL,
    )
  }
  for (const wrong of [
    'Broker',
    'a@b\r\nBcc: x@y',
    'Broker\r\nBcc: x@y <a@b.example>',
    'Broker <a b@c>',
    '<a@b.example',
  ])
    assert.match(problemsOf({ MAIL_FROM: wrong })[0] ?? '', /^MAIL_FROM must be Name <address>/, wrong)
})

test('operators need a second factor unless only this machine can reach the gateway', () => {
  const away = { BASE_URL: 'https://api.example.com', TRUST_PROXY: '10.0.0.1' }
  const needs = (settings: NodeJS.ProcessEnv) => readConfig(settings).secondFactorForOperators
  assert.equal(needs({}), false)
  assert.equal(needs(away), true)
  assert.equal(needs({ REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'true' }), true)
  assert.equal(needs({ ...away, REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'false' }), false)
  const [setting] = readConfig(away).settings.filter(
    ({ name }) => name === 'REQUIRE_SECOND_FACTOR_FOR_OPERATORS',
  )
  assert.deepEqual([setting!.value, setting!.source], ['true', 'default'])
  assert.throws(
    () => needs({ REQUIRE_SECOND_FACTOR_FOR_OPERATORS: 'yes' }),
    /must be one of true, false, not "yes"/,
  )
})

test('acts that take two people are named, and a word that names none is refused', () => {
  const takeTwo = (FOUR_EYES: string) => readConfig({ FOUR_EYES }).fourEyes
  assert.deepEqual(readConfig({}).fourEyes, [])
  assert.deepEqual(takeTwo('partner.approve, keys.rotate'), ['partner.approve', 'keys.rotate'])
  assert.equal(takeTwo('all').length, 8)
  assert.throws(
    () => takeTwo('partner.aprove'),
    /FOUR_EYES must be all, or any of partner\.approve, .*not "partner\.aprove"/,
  )
})

test('an authority for callers without a certificate to show them is a mistake: nobody is let in unproven', () => {
  const file = join(folder, 'callers.pem')
  writeFileSync(file, makeCertificate(['localhost'], new Date(), new Date(Date.now() + hour)).cert)
  assert.deepEqual(
    problemsOf({ INTERNAL_TLS_CLIENT_CA_FILE: file }).map((each) => each.split(' ')[0]),
    ['INTERNAL_TLS_CERT_FILE', 'INTERNAL_TLS_KEY_FILE'],
  )
})

test('clients sign in by certificates of authorities alone, and a proxy that tells them is one that is trusted', () => {
  const file = join(folder, 'clients.pem')
  const told = (...held: string[]) => {
    writeFileSync(file, held.join(''))
    return problemsOf({ MTLS_CA_FILE: file })
  }
  const draft = { subject: [['CN', 'A']], from: new Date(), to: new Date(Date.now() + hour) } as const
  const [authority, other] = [true, false].map(
    (isAuthority) => issueCertificate({ ...draft, isAuthority }).cert,
  )
  assert.deepEqual(told(authority!, authority!), [])
  assert.deepEqual(told(authority!, other!), [
    `MTLS_CA_FILE names a file with a certificate that is no authority: ${file}.`,
  ])
  assert.deepEqual(told('none'), [
    `MTLS_CA_FILE names a file that does not hold certificates in PEM: ${file}.`,
  ])
  assert.deepEqual(problemsOf({ MTLS_PROXY_HEADER: 'true' }), [
    'MTLS_PROXY_HEADER needs TRUST_PROXY, which names the proxies that may say it.',
  ])
  assert.deepEqual(problemsOf({ MTLS_PROXY_HEADER: 'true', TRUST_PROXY: '10.0.0.5' }), [])
})

test('a port for clients with certificates needs the TLS of the gateway, and its sandbox follows it', () => {
  const file = join(folder, 'mtls.pem')
  writeFileSync(file, makeCertificate(['localhost'], new Date(), new Date(Date.now() + hour)).cert)
  const tls = { TLS_CERT_FILE: file, TLS_KEY_FILE: file }
  const portsOf = (given: NodeJS.ProcessEnv) => readConfig(given).sites.map(({ mtlsPort }) => mtlsPort)
  assert.deepEqual(portsOf({}), [undefined, undefined])
  assert.deepEqual(portsOf({ ...tls, MTLS_PORT: '9443' }), [9443, 9444])
  assert.deepEqual(portsOf({ ...tls, MTLS_PORT: '0' }), [0, 0])
  assert.deepEqual(portsOf({ ...tls, SANDBOX_MTLS_PORT: '9443' }), [undefined, 9443])
  const wrong: readonly (readonly [string, NodeJS.ProcessEnv])[] = [
    ['MTLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: it ends TLS itself.', { MTLS_PORT: '9443' }],
    ['MTLS_PORT must differ from PORT, SANDBOX_PORT and INTERNAL_PORT.', { ...tls, MTLS_PORT: '8082' }],
    [
      'SANDBOX_MTLS_PORT must differ from PORT, SANDBOX_PORT, INTERNAL_PORT and MTLS_PORT.',
      { ...tls, MTLS_PORT: '8079' },
    ],
    [
      'SANDBOX_MTLS_PORT must be set, because MTLS_PORT is the last one there is.',
      { ...tls, MTLS_PORT: '65535' },
    ],
    ['MTLS_PORT must be a whole number from 0 to 65535, not "off".', { ...tls, MTLS_PORT: 'off' }],
    [
      'MTLS_URL needs MTLS_PORT, or MTLS_PROXY_HEADER where a proxy asks for certificates.',
      { MTLS_URL: 'https://mtls.example.com' },
    ],
    [
      'SANDBOX_MTLS_URL must begin with https://.',
      { ...tls, MTLS_PORT: '9443', SANDBOX_MTLS_URL: 'http://localhost:9444' },
    ],
  ]
  for (const [problem, given] of wrong) assert.deepEqual(problemsOf(given), [problem])
})
