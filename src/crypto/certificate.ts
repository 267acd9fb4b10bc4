import { X509Certificate } from 'node:crypto'

/** Undefined unless the bytes are one certificate in DER: what follows it, and one in PEM, would be read over. */
export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der)
    return certificate.raw.equals(der) ? certificate : undefined
  } catch {
    return undefined
  }
}
