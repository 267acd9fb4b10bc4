/** Compact JWS (RFC 7515) as no library would sign it. */
import { constants, createHmac, type KeyObject, sign } from 'node:crypto'

export type RawSigner = (signed: Buffer) => Buffer

export const byEs256 =
  (key: KeyObject): RawSigner =>
  (signed) =>
    sign('sha256', signed, { key, dsaEncoding: 'ieee-p1363' })
export const byRs256 =
  (key: KeyObject): RawSigner =>
  (signed) =>
    sign('sha256', signed, key)
export const byPs256 =
  (key: KeyObject): RawSigner =>
  (signed) =>
    sign('sha256', signed, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
export const byHs256 =
  (secret: string): RawSigner =>
  (signed) =>
    createHmac('sha256', secret).update(signed).digest()
/** Of `alg: none`, which has no signature; this is one byte of it, so that it looks like a token. */
export const byNobody: RawSigner = () => Buffer.alloc(1)

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Members that are undefined are left out. */
export function signRaw(header: object, claims: object, signer: RawSigner): string {
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${signer(Buffer.from(signed)).toString('base64url')}`
}
