/**
 * The proxies of ops/forward-auth, run as the files are but for addresses and certificates, before an API that
 * says what it was sent.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { eventually } from './eventually.ts'
import { sendRaw } from './oauth.ts'
import { makeFolder } from './process.ts'

/** What came to the API. */
export interface Arrival {
  readonly method: string
  readonly target: string
  /** In small letters, in the order in which they came. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

export interface Api {
  readonly port: number
  readonly arrivals: Arrival[]
  close(): Promise<void>
}

export async function openApi(): Promise<Api> {
  const arrivals: Arrival[] = []
  const server = createServer(async (request, response) => {
    const { rawHeaders: raw, method = '', url: target = '' } = request
    const headers = raw.flatMap((name, place) =>
      place % 2 === 0 ? [[name.toLowerCase(), raw[place + 1]!] as const] : [],
    )
    arrivals.push({ method, target, headers, body: await text(request) })
    response.end('the API')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Surroundings {
  /** The internal listener; nobody answers at the second node's. */
  readonly node: number
  readonly away: number
  readonly api: number
  readonly port: number
  readonly service: string
  readonly folder: string
}

interface Program {
  readonly file: string
  readonly version: readonly [program: string, ...words: string[]]
  /** What is the reader's own in the file; a piece that is not there any more fails. */
  changes(around: Surroundings): readonly (readonly [of: string, to: string])[]
  /** Its command line, when the adapted file is written. */
  words(around: Surroundings, path: string): readonly string[]
  /** Says whether the file is one that it takes. */
  check(around: Surroundings, path: string): readonly string[]
}

const nodes = ({ node, away }: Surroundings) =>
  [
    ['10.0.0.11:8082', `127.0.0.1:${node}`],
    ['10.0.0.12:8082', `127.0.0.1:${away}`],
  ] as const

function wrapNginx(folder: string, path: string): string {
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  const whole = `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log stderr error; events {}
http { access_log off; ${kept.join(' ')} include ${path}; }`
  writeFileSync(join(folder, 'whole.conf'), whole)
  return join(folder, 'whole.conf')
}

export const proxyPrograms = {
  nginx: {
    file: 'nginx.conf',
    version: ['nginx', '-v'],
    changes(around) {
      const { folder, port, api, service } = around
      writeFileSync(join(folder, 'service'), `proxy_set_header X-Countersign-Service "${service}";\n`)
      return [
        ...nodes(around),
        ['10.0.1.21:3000', `127.0.0.1:${api}`],
        ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
        ['  ssl_certificate     /etc/ssl/orders/fullchain.pem;\n', ''],
        ['  ssl_certificate_key /etc/ssl/orders/privkey.pem;\n', ''],
        ['include /etc/nginx/countersign-service;', `include ${folder}/service;`],
      ]
    },
    words: ({ folder }, path) => ['-e', 'stderr', '-c', wrapNginx(folder, path)],
    check: ({ folder }, path) => ['-e', 'stderr', '-c', wrapNginx(folder, path), '-t'],
  },
  caddy: {
    file: 'Caddyfile',
    version: ['caddy', 'version'],
    changes: (around) => [
      ...nodes(around),
      ['10.0.1.21:3000', `127.0.0.1:${around.api}`],
      ['orders.example.com {', `http://orders.example.com:${around.port} {`],
      ['# Caddy 2.6', '{\n\tadmin off\n}\n# Caddy 2.6'],
    ],
    words: (_, path) => ['run', '--adapter', 'caddyfile', '--config', path],
    check: (_, path) => ['validate', '--adapter', 'caddyfile', '--config', path],
  },
  haproxy: {
    file: 'haproxy.cfg',
    version: ['haproxy', '-v'],
    changes: (around) => [
      ...nodes(around),
      ['10.0.1.21:3000', `127.0.0.1:${around.api}`],
      ['/etc/haproxy/forward-auth.lua', join(process.cwd(), 'ops/forward-auth/forward-auth.lua')],
      ['bind :443 ssl crt /etc/ssl/orders/combined.pem alpn h2,http/1.1', `bind 127.0.0.1:${around.port}`],
    ],
    words: (_, path) => ['-db', '-f', path],
    check: (_, path) => ['-c', '-f', path],
  },
} satisfies Record<string, Program>

export type ProxyName = keyof typeof proxyPrograms

export interface RunningProxy {
  /** Of itself, when it was asked whether it takes the file. */
  readonly isTaken: boolean
  readonly complaints: string
  readonly url: string
  close(): Promise<void>
}

export async function openProxyProgram(
  name: ProxyName,
  given: Omit<Surroundings, 'folder'>,
): Promise<RunningProxy> {
  const program: Program = proxyPrograms[name]
  const around = { ...given, folder: makeFolder() }
  const path = join(around.folder, program.file)
  const written = readFileSync(join('ops/forward-auth', program.file), 'utf8')
  const adapted = program.changes(around).reduce((whole, [of, to]) => {
    if (!whole.includes(of)) throw new Error(`"${of}" is not in ${program.file}.`)
    return whole.replaceAll(of, to)
  }, written)
  writeFileSync(path, adapted)
  const env = {
    PATH: process.env.PATH,
    HOME: around.folder,
    XDG_DATA_HOME: around.folder,
    XDG_CONFIG_HOME: around.folder,
    COUNTERSIGN_SERVICE: around.service,
  }
  const [command] = program.version
  const checked = spawnSync(command, program.check(around, path), { env, encoding: 'utf8' })
  const child = spawn(command, program.words(around, path), { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  process.once('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${around.port}`
  const complaints = `${checked.stdout}${checked.stderr}`
  await eventually(`${name} answers`, () => {
    if (child.exitCode !== null) throw new Error(`${name} does not start: ${complaints}`)
    return sendRaw(url, 'GET / HTTP/1.1\r\nhost: orders.example.com\r\nconnection: close\r\n\r\n').catch(
      () => undefined,
    )
  })
  return {
    isTaken: checked.status === 0,
    complaints,
    url,
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
