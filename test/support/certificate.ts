/**
 * Certificates for the names and dates that a test chooses, which sign themselves or are issued by another of
 * them. X.509 in as few bytes as it allows.
 */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

const kinds = {
  ec: {
    makeKeys: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    signature: der(0x30, Buffer.from('06082a8648ce3d040302', 'hex')),
  },
  rsa: {
    makeKeys: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    signature: der(0x30, Buffer.from('06092a864886f70d01010b0500', 'hex')),
  },
}
type KeyKind = keyof typeof kinds

/** Attributes of a name, and extensions. */
const oids = {
  CN: '0603550403',
  O: '060355040a',
  C: '0603550406',
  organizationIdentifier: '0603550461',
  subjectAltName: '0603551d11',
  basicConstraints: '0603551d13',
  extendedKeyUsage: '0603551d25',
}
const usages = { client: '06082b06010505070302', server: '06082b06010505070301' }

type Attribute = readonly [type: 'CN' | 'O' | 'C' | 'organizationIdentifier', value: string]

interface CertificateDraft {
  /** The widest first, as it is encoded. */
  readonly subject: readonly Attribute[]
  readonly from: Date
  readonly to: Date
  readonly kind?: KeyKind
  readonly altNames?: readonly string[]
  readonly isAuthority?: boolean
  readonly usage?: keyof typeof usages
  /** It signs itself without one. */
  readonly issuer?: Issued
}

interface Issued extends Certificate, Pick<CertificateDraft, 'subject'> {}

/** Signs itself. */
export function makeCertificate(
  names: readonly string[],
  from: Date,
  to: Date,
  kind: KeyKind = 'ec',
): Certificate {
  return issueCertificate({ subject: [['CN', names[0]!]], altNames: names, from, to, kind })
}

export function issueCertificate(draft: CertificateDraft): Issued {
  const { from, to, kind = 'ec', issuer, altNames = [], isAuthority, usage } = draft
  const { privateKey, publicKey } = kinds[kind].makeKeys()
  const signingKey = issuer ? createPrivateKey(issuer.key) : privateKey
  const algorithm = kinds[signingKey.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec'].signature
  const extensions = [
    ...(altNames.length > 0 ? [extension('subjectAltName', altNames.map(printAltName))] : []),
    ...(isAuthority ? [extension('basicConstraints', [der(0x01, Buffer.from([0xff]))])] : []),
    ...(usage ? [extension('extendedKeyUsage', [Buffer.from(usages[usage], 'hex')])] : []),
  ]
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    printName((issuer ?? draft).subject),
    der(0x30, printTime(from), printTime(to)),
    printName(draft.subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, der(0x30, ...extensions))] : []),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, signingKey))
  const whole = der(0x30, body, algorithm, signature)
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { cert: printPem(whole), key, subject: draft.subject }
}

function printName(attributes: readonly Attribute[]): Buffer {
  const parts = attributes.map(([type, value]) => {
    const tag = type === 'C' ? 0x13 : 0x0c
    return der(0x31, der(0x30, Buffer.from(oids[type], 'hex'), der(tag, Buffer.from(value))))
  })
  return der(0x30, ...parts)
}

const printAltName = (name: string) => der(0x82, Buffer.from(name))

function extension(name: keyof typeof oids, parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.from(oids[name], 'hex'), der(0x04, der(0x30, ...parts)))
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** Generalized time: 20260302100000Z. */
function printTime(at: Date): Buffer {
  return der(0x18, Buffer.from(at.toISOString().replace(/[-:T]|\.\d+/g, '')))
}

function printPem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
