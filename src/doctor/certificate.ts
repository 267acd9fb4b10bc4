/**
 * Certificates of https addresses: whose, for how long, and whether the one in the file is the one that is
 * shown.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { type Clock, day } from '../clock.ts'
import type { Config, SiteConfig } from '../settings/config.ts'
import { type Answer, type Finding, fail, grade, ok, warn } from './finding.ts'
import { limits } from './limits.ts'

const renew = 'Renew it and restart the nodes one after the other: certificates are read at the start.'

/** The files that TLS_CERT_FILE and TLS_KEY_FILE name. */
export function checkCertificateFile({ tls, sites }: Config, clock: Clock): Answer {
  if (!tls)
    return { finding: ok('No TLS_CERT_FILE: this node speaks plain http, to a proxy or to this machine.') }
  const certificate = new X509Certificate(tls.cert)
  if (!certificate.checkPrivateKey(createPrivateKey(tls.key)))
    return {
      finding: fail(
        'TLS_KEY_FILE is not the key of TLS_CERT_FILE.',
        'Name the two files that belong together.',
      ),
    }
  const addresses = sites.flatMap(({ baseUrl, mtlsPort, mtlsUrl }) => [
    baseUrl,
    mtlsPort === undefined ? '' : mtlsUrl,
  ])
  const hosts = addresses.filter((each) => each !== '').map((each) => new URL(each).hostname)
  return { finding: judgeCertificate(certificate, hosts, clock.now()) }
}

/** What a client sees at the address. */
export async function checkShownCertificate(
  { tls }: Config,
  { baseUrl }: SiteConfig,
  clock: Clock,
): Promise<Answer> {
  if (!baseUrl.startsWith('https:'))
    return { finding: ok('Plain http, on this machine only: there is no certificate.') }
  const shown = await readShown(new URL(baseUrl))
  const finding = judgeCertificate(shown.certificate, [new URL(baseUrl).hostname], clock.now())
  if (finding.state === 'fail') return { finding }
  if (tls && new X509Certificate(tls.cert).fingerprint256 !== shown.certificate.fingerprint256)
    return {
      finding: warn(
        `${finding.found} It is not the one in TLS_CERT_FILE.`,
        'Restart the nodes one after the other if the file is newer; behind a proxy that ends TLS, leave TLS_CERT_FILE out.',
      ),
    }
  if (shown.distrust)
    return {
      finding: warn(
        `${finding.found} This machine does not trust it (${shown.distrust}).`,
        'Serve the whole chain, from an authority that your partners trust.',
      ),
    }
  return { finding }
}

interface PresentedCertificate {
  readonly certificate: X509Certificate
  readonly distrust: string | undefined
}

function readShown(url: URL): Promise<PresentedCertificate> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const options = { host, port: Number(url.port || 443), servername: isIP(host) === 0 ? host : '' }
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ ...options, rejectUnauthorized: false }, () => {
      const certificate = socket.getPeerX509Certificate()
      const distrust = socket.authorizationError
      socket.destroy()
      if (certificate) resolve({ certificate, distrust: distrust ? String(distrust) : undefined })
      else reject(new Error(`${url.host} shows no certificate.`))
    })
    socket.setTimeout(limits.checkMs / 2, () =>
      socket.destroy(new Error(`${url.host} does not speak TLS in time.`)),
    )
    socket.on('error', reject)
  })
}

export function judgeCertificate(certificate: X509Certificate, hosts: readonly string[], now: Date): Finding {
  const stranger = hosts.find((host) => !isFor(certificate, host))
  if (stranger !== undefined)
    return fail(
      `The certificate is not for ${stranger}.`,
      'Get one that names every address of BASE_URL, SANDBOX_URL, MTLS_URL and SANDBOX_MTLS_URL.',
    )
  const days = Math.floor((certificate.validToDate.getTime() - now.getTime()) / day)
  const { warnDays, failDays } = limits.certificate
  if (days < 0) return fail(`The certificate ended on ${certificate.validTo}.`, renew)
  if (certificate.validFromDate > now)
    return fail(`The certificate begins on ${certificate.validFrom}.`, "Check this machine's clock, or wait.")
  return grade(
    -days,
    { warn: -warnDays, fail: -failDays },
    `The certificate is valid for ${days} more days.`,
    renew,
  )
}

/** Of an address in brackets, what is between them. */
function isFor(certificate: X509Certificate, host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined
}
