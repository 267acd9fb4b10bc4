/** RFC 8705, 2: whether a certificate says that it is this client who comes. */
import type { X509Certificate } from 'node:crypto'
import { normaliseName, normaliseSubject } from '../crypto/distinguished-name.ts'
import { type ClientCertificate, thumbprintOf } from '../http/client-certificate.ts'
import type { Registration } from '../partners/client.ts'

type Registered = Pick<Registration, 'keys' | 'certificateSubject'>

/** `authorities`: those of MTLS_CA_FILE. */
export function matchCertificate(
  client: Registered,
  shown: ClientCertificate,
  now: Date,
  authorities: readonly X509Certificate[],
): boolean {
  return isOfKeys(client, shown) || isOfSubject(client, shown.certificate, now, authorities)
}

/**
 * `self_signed_tls_client_auth` (2.2): the very certificate that is registered beside a key. It is good for as
 * long as it is registered, whatever dates it bears.
 */
function isOfKeys({ keys }: Registered, { thumbprint }: ClientCertificate): boolean {
  return keys.some(({ jwk: { x5c } }) => {
    const [base64] = x5c ?? []
    return base64 !== undefined && thumbprintOf(Buffer.from(base64, 'base64')) === thumbprint
  })
}

/** `tls_client_auth` (2.1): the subject that is registered, by an authority that the brokerage trusts. */
function isOfSubject(
  { certificateSubject }: Registered,
  certificate: X509Certificate,
  now: Date,
  authorities: readonly X509Certificate[],
): boolean {
  if (certificateSubject === null) return false
  const wanted = normaliseName(certificateSubject)
  return (
    wanted !== undefined &&
    wanted === normaliseSubject(certificate.subject) &&
    isInTime(certificate, now) &&
    isForClients(certificate) &&
    authorities.some((authority) => isIssuedBy(certificate, authority) && isInTime(authority, now))
  )
}

function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function isInTime({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now && now <= validToDate
}

/** clientAuth, anyExtendedKeyUsage (RFC 5280, 4.2.1.12). */
const usages = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/** One that says what it is for must say this; the certificate of a server by the same authority does not. */
function isForClients({ keyUsage }: X509Certificate): boolean {
  const said: readonly string[] | undefined = keyUsage
  return said?.some((usage) => usages.includes(usage)) ?? true
}
