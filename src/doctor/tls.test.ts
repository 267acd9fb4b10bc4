import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { createServer, type TlsOptions } from 'node:tls'
import { makeCertificate } from '../../test/support/certificate.ts'
import { day } from '../clock.ts'
import { secure } from '../http/secure.ts'
import { checkTls } from './tls.ts'

const certificate = makeCertificate(['localhost'], new Date(Date.now() - day), new Date(Date.now() + day))

/** What the doctor says of an address that agrees to this. */
async function look(how: TlsOptions): Promise<string> {
  const server = createServer({ ...certificate, ...how }).on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { state, found } = (await checkTls({ baseUrl })).finding
  return `${state}: ${found.replace(/^\S+ /, '')}`
}

test('an address that agrees to old versions or other suites of TLS is named, and one without TLS 1.3', async () => {
  const loose = 'ECDHE-ECDSA-AES128-SHA256'
  assert.equal(
    await look({ ciphers: `${secure.ciphers}:${loose}` }),
    `warn: also agrees to TLSv1.2 ${loose}, which FAPI 2.0 leaves out.`,
  )
  assert.match(
    await look({ minVersion: 'TLSv1', ciphers: 'ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0' }),
    /^warn: also agrees to TLSv1\.2 ECDHE-ECDSA-AES128-SHA,/,
  )
  assert.match(
    await look({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    /^warn: also agrees to TLSv1\.1 \S+,/,
  )
  assert.equal(await look({ ...secure, maxVersion: 'TLSv1.2' }), 'warn: does not speak TLS 1.3.')
  assert.equal(await look(secure), 'ok: speaks TLS 1.3, and 1.2 with the suites of FAPI 2.0 alone.')
})
