/** The files of ops/mutual-tls, run as they are but for addresses and certificates, before a listener. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { day } from '../../src/clock.ts'
import { certificateOf, thumbprintOf } from '../../src/http/client-certificate.ts'
import { openBareServer } from '../support/bare-server.ts'
import { issueCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { skipWithout } from '../support/installed.ts'
import { keepOpen } from '../support/keep-open.ts'
import { findFreePorts } from '../support/ports.ts'
import { makeFolder } from '../support/process.ts'

const times = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }
const names = { live: 'mtls.api.example.com', sandbox: 'mtls.sandbox.example.com' }
const own = issueCertificate({ subject: [['CN', names.live]], altNames: Object.values(names), ...times })
const client = issueCertificate({ subject: [['CN', 'client']], ...times })
const forged = `:${new X509Certificate(own.cert).raw.toString('base64')}:`

/** A site that says what it heard. */
async function openSite(site: string): Promise<{ port: number; close(): Promise<void> }> {
  const app = await openBareServer({ certificateProxies: ['127.0.0.1'] })
  app.get('/v1/who', (asked) => ({ site, thumbprint: certificateOf(asked)?.thumbprint ?? null }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
}

const [live, sandbox] = await Promise.all(['live', 'sandbox'].map((site) => keepOpen(openSite(site))))
const [away] = await findFreePorts(1)

const nodes = [
  ['10.0.0.11:8080', `127.0.0.1:${live!.port}`],
  ['10.0.0.12:8080', `127.0.0.1:${away}`],
  ['10.0.0.11:8081', `127.0.0.1:${sandbox!.port}`],
  ['10.0.0.12:8081', `127.0.0.1:${away}`],
] as const

interface Program {
  readonly file: string
  readonly version: readonly [program: string, word: string]
  readonly demandsCertificate: boolean
  changes(port: number, folder: string): readonly (readonly [of: string, to: string])[]
  words(path: string): readonly string[]
  check(path: string): readonly string[]
}

const programs: readonly Program[] = [
  {
    file: 'haproxy.cfg',
    version: ['haproxy', '-v'],
    demandsCertificate: false,
    changes: (port, folder) => [
      ['bind :443', `bind 127.0.0.1:${port}`],
      ['/etc/ssl/countersign/combined.pem', join(folder, 'combined.pem')],
      ['/etc/ssl/countersign/fullchain.pem', join(folder, 'cert.pem')],
    ],
    words: (path) => ['-db', '-f', path],
    check: (path) => ['-c', '-f', path],
  },
  {
    file: 'Caddyfile',
    version: ['caddy', 'version'],
    demandsCertificate: true,
    changes: (port, folder) => [
      ['# Caddy 2.6', '{\n\tadmin off\n\tauto_https disable_redirects\n}\n# Caddy 2.6'],
      ['\ttls {', `\ttls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')} {`],
      [`\n${names.live} {`, `\nhttps://${names.live}:${port} {\n\tbind 127.0.0.1`],
      [`\n${names.sandbox} {`, `\nhttps://${names.sandbox}:${port} {\n\tbind 127.0.0.1`],
    ],
    words: (path) => ['run', '--adapter', 'caddyfile', '--config', path],
    check: (path) => ['validate', '--adapter', 'caddyfile', '--config', path],
  },
]

async function ask(port: number, host: string, path: string, options: RequestOptions = {}) {
  const to = { host: '127.0.0.1', port, path, servername: host, ca: own.cert, agent: false as const }
  const asked = request({ ...to, ...options, headers: { host, ...options.headers } }).end()
  const [answer] = await once(asked, 'response')
  return { status: answer.statusCode as number, body: await text(answer) }
}

async function openProgram({ file, version, changes, words, check }: Program, port: number) {
  const folder = makeFolder()
  for (const [name, held] of [
    ['cert.pem', own.cert],
    ['key.pem', own.key],
    ['combined.pem', own.cert + own.key],
  ] as const)
    writeFileSync(join(folder, name), held)
  const path = join(folder, file)
  const adapted = [...nodes, ...changes(port, folder)].reduce(
    (whole, [of, to]) => {
      assert.equal(whole.split(of).length, 2, `"${of}" is in the file once`)
      return whole.replace(of, to)
    },
    readFileSync(join('ops/mutual-tls', file), 'utf8'),
  )
  writeFileSync(path, adapted)
  const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const checked = spawnSync(version[0], check(path), { env, encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stdout + checked.stderr)
  const child = spawn(version[0], words(path), { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  process.once('exit', () => child.kill('SIGKILL'))
  await eventually(`${version[0]} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${version[0]} does not start`)
    return ask(port, names.live, '/v1/who', client).catch(() => undefined)
  })
  return {
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

for (const program of programs) {
  const [name] = program.version
  test(`${name} hands on the certificate of a connection, and nothing that a client says of one`, {
    skip: skipWithout(...program.version),
  }, async () => {
    const [port] = await findFreePorts(1)
    await keepOpen(openProgram(program, port!))
    const { cert, key } = client
    const thumbprint = thumbprintOf(new X509Certificate(cert).raw)
    for (const [site, host] of Object.entries(names))
      for (const headers of [{}, { 'client-cert': forged }, { 'client-cert': [forged, forged] }]) {
        const { body } = await ask(port!, host, '/v1/who', { cert, key, headers })
        assert.deepEqual(JSON.parse(body), { site, thumbprint })
      }
    const without = ask(port!, names.live, '/v1/who', { headers: { 'client-cert': forged } })
    if (program.demandsCertificate) await assert.rejects(without)
    else assert.deepEqual(JSON.parse((await without).body), { site: 'live', thumbprint: null })
    assert.equal((await ask(port!, names.live, '/login', client)).status, 404)
    const old = { ...client, maxVersion: 'TLSv1.2', ciphers: 'ALL:@SECLEVEL=0' } as const
    assert.equal((await ask(port!, names.live, '/v1/who', old)).status, 200)
    const loose = 'ALL:!ECDHE+AESGCM:@SECLEVEL=0'
    await assert.rejects(ask(port!, names.live, '/v1/who', { ...old, ciphers: loose }))
    const older = { ...old, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } as const
    await assert.rejects(ask(port!, names.live, '/v1/who', older))
  })
}
