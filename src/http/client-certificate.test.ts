import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { openBareServer } from '../../test/support/bare-server.ts'
import { issueCertificate } from '../../test/support/certificate.ts'
import { day } from '../clock.ts'
import { certificateOf } from './client-certificate.ts'

const now = Date.now()
const subject = [['CN', 'client']] as const
const { cert } = issueCertificate({ subject, from: new Date(now - day), to: new Date(now + day) })
const { raw } = new X509Certificate(cert)
const header = `:${raw.toString('base64')}:`
const proxy = '127.0.0.1'

async function openListener(certificateProxies: readonly string[]) {
  const app = await openBareServer({ certificateProxies })
  app.get('/who', (request) => ({ thumbprint: certificateOf(request)?.thumbprint ?? null }))
  await app.listen({ host: '0.0.0.0', port: 0 })
  after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return (clientCert: string | string[] | undefined, localAddress = proxy) =>
    new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const headers = clientCert === undefined ? {} : { 'client-cert': clientCert }
      send({ host: '127.0.0.1', port, path: '/who', localAddress, headers }, async (answer) => {
        const chunks = await answer.toArray()
        resolve({ status: answer.statusCode!, body: JSON.parse(Buffer.concat(chunks).toString()) })
      })
        .on('error', reject)
        .end()
    })
}

const known = await openListener(['10.0.0.0/8', proxy])
const unknown = await openListener([])
const { thumbprint } = (await known(header)).body

test('a trusted proxy tells the certificate of its client (RFC 9440), by which it is known (RFC 8705, 3.1)', async () => {
  assert.match(String(thumbprint), /^[\w-]{43}$/)
  assert.deepEqual(await known(undefined), { status: 200, body: { thumbprint: null } })
})

test('from everybody else the header does not exist, whatever is in it', async () => {
  for (const text of [header, 'nonsense', [header, header]]) {
    assert.deepEqual(await known(text, '127.0.0.2'), { status: 200, body: { thumbprint: null } })
    assert.deepEqual(await unknown(text), { status: 200, body: { thumbprint: null } })
  }
})

test('what a trusted proxy tells twice or malformed is refused', async () => {
  const base64 = raw.toString('base64')
  const texts = [
    ...[
      [header, header],
      `${header}, ${header}`,
      base64,
      `:${base64}`,
      `::`,
      ':AAAA:',
      ':%:',
      `${header};a=1`,
    ],
    ...[`:${cert.replaceAll('\n', ' ')}:`, `:${Buffer.from(cert).toString('base64')}:`],
    `:${Buffer.concat([raw, raw]).toString('base64')}:`,
    '',
  ]
  for (const text of texts) {
    const { status, body } = await known(text)
    assert.equal(status, 400, String(text))
    assert.equal(body.error, 'invalid_request')
    assert.match(String(body.error_description), /^The Client-Cert header is malformed\./)
  }
})
