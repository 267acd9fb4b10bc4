/** What an https address agrees to: FAPI 2.0 (5.2) wants TLS 1.2 and 1.3, and few suites of the first. */
import { isIP } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import { secure } from '../http/secure.ts'
import type { SiteConfig } from '../settings/config.ts'
import { type Answer, ok, warn } from './finding.ts'
import { limits } from './limits.ts'

/** Everything but what the gateway itself takes, whatever the default of this machine is. */
const others = [
  'ALL',
  ...secure.ciphers.split(':').flatMap((suite) => (suite.startsWith('TLS_') ? [] : [`!${suite}`])),
  '@SECLEVEL=0',
].join(':')

export async function checkTls({ baseUrl }: Pick<SiteConfig, 'baseUrl'>): Promise<Answer> {
  if (!baseUrl.startsWith('https:'))
    return { finding: ok('Plain http, on this machine only: there is no TLS.') }
  const url = new URL(baseUrl)
  const [newest, loose] = await Promise.all([
    shakeHands(url, {}),
    shakeHands(url, { minVersion: 'TLSv1', maxVersion: 'TLSv1.2', ciphers: others }),
  ])
  const advice = 'Set versions and suites where TLS ends, as ops/nginx.conf has them.'
  if (loose !== undefined)
    return { finding: warn(`${url.host} also agrees to ${loose}, which FAPI 2.0 leaves out.`, advice) }
  if (newest?.startsWith('TLSv1.3') !== true)
    return { finding: warn(`${url.host} does not speak TLS 1.3.`, advice) }
  return { finding: ok(`${url.host} speaks TLS 1.3, and 1.2 with the suites of FAPI 2.0 alone.`) }
}

/** Version and suite; undefined when they do not agree. */
function shakeHands(url: URL, wishes: ConnectionOptions): Promise<string | undefined> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const to = { host, port: Number(url.port || 443), servername: isIP(host) === 0 ? host : '' }
  return new Promise((resolve) => {
    const socket = connect({ ...to, rejectUnauthorized: false, ...wishes }, () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.setTimeout(limits.checkMs / 2, () => socket.destroy(new Error('too slow')))
    socket.on('error', () => resolve(undefined))
  })
}
