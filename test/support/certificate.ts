/**
 * Certificates that sign themselves, for the names and dates that a test chooses. X.509 in as few bytes as it
 * allows.
 */
import { generateKeyPairSync, sign } from 'node:crypto'

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
const commonName = Buffer.from('0603550403', 'hex')
const subjectAltName = Buffer.from('0603551d11', 'hex')

export function makeCertificate(
  names: readonly string[],
  from: Date,
  to: Date,
  kind: keyof typeof kinds = 'ec',
): Certificate {
  const { makeKeys, signature: algorithm } = kinds[kind]
  const { privateKey, publicKey } = makeKeys()
  const who = der(0x30, der(0x31, der(0x30, commonName, der(0x0c, Buffer.from(names[0]!)))))
  const altNames = der(0x30, ...names.map((name) => der(0x82, Buffer.from(name))))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    who,
    der(0x30, printTime(from), printTime(to)),
    who,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, der(0x30, subjectAltName, der(0x04, altNames)))),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  const whole = der(0x30, body, algorithm, signature)
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { cert: printPem(whole), key }
}

function der(tag: number, ...parts: Buffer[]): Buffer {
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
