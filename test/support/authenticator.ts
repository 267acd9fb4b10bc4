/** An authenticator in software (WebAuthn, ES256, no attestation) that also lies when a test wants it to. */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { type Answer, type Browser, hiddenFields } from './browser.ts'

interface Lies {
  /** Instead of the origin of the page. */
  readonly origin?: string
  /** Instead of the host that the page named. */
  readonly host?: string
  readonly challenge?: string
  readonly counter?: number
  /** Instead of the id of its own credential. */
  readonly id?: string
  /** Instead of the id of the user whose it is. */
  readonly userHandle?: string
  readonly isVerified?: boolean
}

interface Options {
  readonly challenge: string
  readonly rp?: { readonly id: string }
  readonly rpId?: string
  readonly user?: { readonly id: string }
}

const present = 0x01
const verified = 0x04
const withCredential = 0x40

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest()

export class Authenticator {
  readonly id = randomBytes(32)
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #origin: string
  #counter = 0
  #userHandle: string | undefined

  constructor(origin: string) {
    this.#origin = origin
  }

  /** What the browser would put into the form, for navigator.credentials.create. */
  create(options: Options, lies: Lies = {}): string {
    this.#userHandle = options.user?.id
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' })
    const [head, middle] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')]
    const key = Buffer.concat([head, Buffer.from(x!, 'base64url'), middle, Buffer.from(y!, 'base64url')])
    const length = Buffer.from([0, this.id.length])
    const credential = Buffer.concat([Buffer.alloc(16), length, this.id, key])
    const data = Buffer.concat([this.#data(options, withCredential, lies), credential])
    const attestation = Buffer.concat([
      Buffer.from([0xa3, 0x63, ...Buffer.from('fmt'), 0x64, ...Buffer.from('none')]),
      Buffer.from([
        0x67,
        ...Buffer.from('attStmt'),
        0xa0,
        0x68,
        ...Buffer.from('authData'),
        0x58,
        data.length,
      ]),
      data,
    ])
    const clientDataJSON = this.#client('webauthn.create', options, lies).toString('base64url')
    return this.#print({ clientDataJSON, attestationObject: attestation.toString('base64url') }, lies)
  }

  /** The same for navigator.credentials.get. */
  get(options: Options, lies: Lies = {}): string {
    this.#counter = lies.counter ?? this.#counter + 1
    const data = this.#data(options, 0, lies)
    const client = this.#client('webauthn.get', options, lies)
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey)
    const [clientDataJSON, authenticatorData] = [client, data].map((bytes) => bytes.toString('base64url'))
    return this.#print(
      {
        ...{ clientDataJSON, authenticatorData, signature: signature.toString('base64url') },
        userHandle: lies.userHandle ?? this.#userHandle,
      },
      lies,
    )
  }

  #data({ rp, rpId }: Options, flags: number, { host, isVerified = true }: Lies): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#counter)
    return Buffer.concat([
      sha256(host ?? rp?.id ?? rpId!),
      Buffer.from([present | (isVerified ? verified : 0) | flags]),
      counter,
    ])
  }

  #client(type: string, options: Options, lies: Lies): Buffer {
    const challenge = lies.challenge ?? options.challenge
    return Buffer.from(
      JSON.stringify({ type, challenge, origin: lies.origin ?? this.#origin, crossOrigin: false }),
    )
  }

  #print(response: object, { id = this.id.toString('base64url') }: Lies): string {
    return JSON.stringify({ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} })
  }
}

const entities: Record<string, string> = {
  '&quot;': '"',
  '&amp;': '&',
  '&#39;': "'",
  '&lt;': '<',
  '&gt;': '>',
}

export function readOptions(page: Answer): Options {
  const [, printed] = /data-options="([^"]*)"/.exec(page.text) ?? []
  assert.ok(printed !== undefined, page.text)
  return JSON.parse(printed.replaceAll(/&(quot|amp|#39|lt|gt);/g, (entity) => entities[entity]!))
}

/** Adds a passkey in this browser, from a session that is fresh. */
export async function addKey(
  browser: Browser,
  key: Authenticator,
  lies: Lies = {},
  name = 'My key',
): Promise<Answer> {
  const page = await browser.get('/account/security/passkey')
  assert.equal(page.status, 200, page.text)
  const credential = key.create(readOptions(page), lies)
  return browser.submit(page, '/account/security/passkey', { name, credential })
}

/** Answers the second step of a sign-in with a passkey. */
export async function sendKey(browser: Browser, key: Authenticator, lies: Lies = {}): Promise<Answer> {
  const page = await browser.get('/login/second')
  const credential = key.get(readOptions(page), lies)
  const action = '/login/second/passkey'
  return browser.post(action, { ...hiddenFields(page.text, action), credential })
}

/** Signs in with a passkey alone. */
export async function signInWithKey(browser: Browser, key: Authenticator, lies: Lies = {}): Promise<Answer> {
  const page = await browser.get('/login')
  const action = '/login/passkey'
  const credential = key.get(readOptions(page), lies)
  return browser.post(action, { ...hiddenFields(page.text, action), credential })
}
