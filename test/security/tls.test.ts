/** RFC 9325: what each of our own TLS listeners agrees to, whoever asks, with a certificate of either kind. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type ConnectionOptions, connect, type SecureVersion } from 'node:tls'
import { day } from '../../src/clock.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openHouse, type TestGateway } from '../support/gateway.ts'
import { findFreePorts } from '../support/ports.ts'

const kinds = ['ec', 'rsa'] as const
type Kind = (typeof kinds)[number]

/** RFC 9325, 4.2, as OpenSSL names them. */
const recommended = {
  ec: ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  rsa: ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384'],
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'))
const houses = new Map<Kind, { house: TestGateway; mutualPorts: number[] }>()
for (const kind of kinds) {
  const mutualPorts = await findFreePorts(2)
  const [MTLS_PORT, SANDBOX_MTLS_PORT] = mutualPorts.map(String)
  const house = await openHouse({ ...writeCertificate(kind), MTLS_PORT, SANDBOX_MTLS_PORT })
  houses.set(kind, { house, mutualPorts })
}
after(() => rmSync(folder, { recursive: true }))

function writeCertificate(kind: Kind): Record<string, string> {
  const [from, to] = [new Date(Date.now() - day), new Date(Date.now() + day)]
  const { cert, key } = makeCertificate(['localhost'], from, to, kind)
  const files = { TLS_CERT_FILE: join(folder, `${kind}.crt`), TLS_KEY_FILE: join(folder, `${kind}.key`) }
  const inside = { INTERNAL_TLS_CERT_FILE: files.TLS_CERT_FILE, INTERNAL_TLS_KEY_FILE: files.TLS_KEY_FILE }
  writeFileSync(files.TLS_CERT_FILE, cert)
  writeFileSync(files.TLS_KEY_FILE, key)
  return { ...files, ...inside }
}

const portsOf = (kind: Kind) => {
  const { house, mutualPorts } = houses.get(kind)!
  const urls = [house.baseUrl, house.sandboxUrl, house.internalUrl]
  return [...urls.map((url) => Number(new URL(url).port)), ...mutualPorts]
}

interface TlsParameters {
  readonly version: string
  readonly suite: string
}

/** What comes of a handshake with these wishes; undefined when none does. */
function shakeHands(port: number, wishes: ConnectionOptions): Promise<TlsParameters | undefined> {
  return new Promise((resolve) => {
    try {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...wishes })
      socket.once('error', () => resolve(undefined))
      socket.once('secureConnect', () => {
        resolve({ version: socket.getProtocol()!, suite: socket.getCipher().name })
        socket.destroy()
      })
    } catch {
      // A suite that this build of OpenSSL cannot ask for.
      resolve(undefined)
    }
  })
}

/** Everything is offered, then everything but what was chosen, until nothing is. */
async function chosenOf(offer: (list: string) => Promise<string | undefined>): Promise<string[]> {
  const all = 'ALL:COMPLEMENTOFALL'
  const chosen: string[] = []
  for (let next = await offer(all); next !== undefined; next = await offer([all, ...chosen].join(':!'))) {
    assert.ok(!chosen.includes(next), next)
    chosen.push(next)
  }
  return chosen.sort()
}

/** Whatever the default of this machine is, everything may be asked for. */
const anything = '@SECLEVEL=0'

for (const kind of kinds) {
  test(`of TLS 1.2 every listener takes the suites of RFC 9325 and no other, with a certificate of the kind ${kind}`, async () => {
    for (const port of portsOf(kind)) {
      const taken = await chosenOf(async (list) => {
        const wishes = {
          minVersion: 'TLSv1.2',
          maxVersion: 'TLSv1.2',
          ciphers: `${list}:${anything}`,
        } as const
        return (await shakeHands(port, wishes))?.suite
      })
      assert.deepEqual(taken, recommended[kind])
    }
  })

  test(`TLS 1.3 is what two that know it agree on, and nothing before 1.2 is spoken, with a certificate of the kind ${kind}`, async () => {
    for (const port of portsOf(kind)) {
      assert.equal((await shakeHands(port, {}))?.version, 'TLSv1.3')
      const only = (version: SecureVersion) => ({
        minVersion: version,
        maxVersion: version,
        ciphers: `ALL:${anything}`,
      })
      assert.equal((await shakeHands(port, only('TLSv1.2')))?.version, 'TLSv1.2')
      for (const old of ['TLSv1.1', 'TLSv1'] as const)
        assert.equal(await shakeHands(port, only(old)), undefined, old)
    }
  })
}

function findOpenssl(): string | undefined {
  try {
    return execFileSync('openssl', ['version'], { encoding: 'utf8' })
  } catch {
    return undefined
  }
}

const openssl = findOpenssl()
const level = openssl?.startsWith('OpenSSL') ? `:${anything}` : ''

/** A handshake as an outsider's tool makes it. */
function dial(port: number, ...wishes: string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const args = ['s_client', '-connect', `127.0.0.1:${port}`, ...wishes]
    const child = execFile('openssl', args, (_error, stdout) => {
      const [, suite] = /Cipher is ([\w-]+)/.exec(stdout) ?? []
      resolve(suite === undefined || suite === '0000' ? undefined : suite.replace('NONE', '') || undefined)
    })
    child.stdin!.end()
  })
}

test('openssl s_client gets the same suites, and no version before 1.2', {
  skip: openssl ? false : 'there is no openssl on this machine; the tests above ask with Node',
}, async () => {
  for (const kind of kinds) {
    const [port] = portsOf(kind)
    assert.deepEqual(
      await chosenOf((list) => dial(port!, '-tls1_2', '-cipher', list + level)),
      recommended[kind],
    )
    assert.match((await dial(port!)) ?? '', /^TLS_/)
    for (const old of ['-tls1', '-tls1_1'])
      assert.equal(await dial(port!, old, '-cipher', `ALL${level}`), undefined, old)
  }
})
