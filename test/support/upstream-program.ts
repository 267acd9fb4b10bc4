/**
 * The brokerage's identity provider, in a process of its own: oidc-provider, which can be told to lie, to be
 * away, and what time it is.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type DemoProviderOptions, openDemoProvider } from '../../src/demo/demo-provider.ts'

/**
 * A claim, or a word of its metadata, that is null is left out; what it says at its userinfo endpoint instead
 * of the truth, or that it says nothing there.
 */
export type Lie =
  | { readonly claims: Record<string, unknown>; readonly userInfo?: Record<string, unknown> | 'nothing' }
  | { readonly algorithm: 'none' | 'HS256' }
  | { readonly otherKey: true }
  | { readonly metadata: Record<string, unknown> | 'a page' }
  /** Its document of keys, whole. */
  | { readonly keys: unknown }
  /** How its token endpoint answers whomever: a status with the word of an error. */
  | { readonly refusal: readonly [status: number, error: string] }

export type Order =
  | { readonly order: 'open'; readonly options: DemoProviderOptions }
  | { readonly order: 'time'; readonly aheadMs: number }
  | { readonly order: 'lie'; readonly lie: Lie | undefined }
  | { readonly order: 'leave' }
  | { readonly order: 'return' }

const RealDate = Date
let aheadMs = 0
class ShiftedDate extends RealDate {
  constructor(...words: unknown[]) {
    super(...((words.length === 0 ? [RealDate.now() + aheadMs] : words) as [number]))
  }
  static override now(): number {
    return RealDate.now() + aheadMs
  }
}
globalThis.Date = ShiftedDate as DateConstructor

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
const jwk = {
  ...createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })).export({ format: 'jwk' }),
  kid: 'main',
  use: 'sig',
  alg: 'RS256',
}

let lie: Lie | undefined
let opened: Awaited<ReturnType<typeof openDemoProvider>> | undefined

async function obey(order: Order): Promise<object> {
  switch (order.order) {
    case 'open': {
      opened = await openDemoProvider({ ...order.options, keys: [jwk] })
      opened.server.prependListener('request', (request, response) => {
        // Node's own header has the time of the machine.
        response.setHeader('date', new Date().toUTCString())
        if (lie && request.url === '/token') twist(response, lie)
        if (lie && 'userInfo' in lie && request.url === '/me') tellOfUser(response, lie.userInfo)
        if (lie && 'metadata' in lie && request.url === '/.well-known/openid-configuration')
          tellOfItself(response, lie.metadata)
        if (lie && 'refusal' in lie && request.url === '/token') refuse(response, ...lie.refusal)
        if (lie && 'keys' in lie && request.url === '/jwks') tellKeys(response, lie.keys)
      })
      const pem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' })
      return {
        issuer: opened.issuer,
        publicKey: pem,
        privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      }
    }
    case 'time':
      aheadMs = order.aheadMs
      return {}
    case 'lie':
      lie = order.lie
      return {}
    case 'leave':
      await opened!.close()
      return {}
    case 'return': {
      const { port, hostname } = new URL(opened!.issuer)
      await new Promise<void>((done) => opened!.server.listen(Number(port), hostname, done))
      return {}
    }
  }
}

/** The answer of the token endpoint goes out with another ID token. */
function twist(response: ServerResponse, told: Lie): void {
  const end = response.end.bind(response)
  response.end = ((body: string | Buffer) => {
    const answer = JSON.parse(String(body)) as { id_token?: string }
    if (answer.id_token === undefined) return end(body)
    const text = JSON.stringify({ ...answer, id_token: retell(answer.id_token, told) })
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function tellOfUser(response: ServerResponse, said: object | 'nothing' | undefined): void {
  const end = response.end.bind(response)
  response.end = ((body: string | Buffer) => {
    if (said === undefined) return end(body)
    if (said === 'nothing') response.statusCode = 403
    const text = JSON.stringify(said === 'nothing' ? {} : { ...JSON.parse(String(body)), ...said })
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function tellOfItself(response: ServerResponse, said: Record<string, unknown> | 'a page'): void {
  const end = response.end.bind(response)
  response.end = ((body: string | Buffer) => {
    if (said === 'a page') response.setHeader('content-type', 'text/html')
    const text =
      said === 'a page' ? '<h1>Hello</h1>' : JSON.stringify({ ...JSON.parse(String(body)), ...said }, isSaid)
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function refuse(response: ServerResponse, status: number, error: string): void {
  const end = response.end.bind(response)
  response.end = (() => {
    response.statusCode = status
    response.removeHeader('www-authenticate')
    const text = JSON.stringify({ error })
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function tellKeys(response: ServerResponse, said: unknown): void {
  const end = response.end.bind(response)
  response.end = (() => {
    const text = JSON.stringify(said)
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

const isSaid = (_: string, value: unknown) => (value === null ? undefined : value)

function retell(idToken: string, told: Lie): string {
  const [head, body] = idToken.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  const all = { ...JSON.parse(body!), ...('claims' in told && told.claims) }
  const claims = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
  const algorithm = 'algorithm' in told ? told.algorithm : 'RS256'
  return seal({ ...JSON.parse(head!), alg: algorithm }, claims, 'otherKey' in told ? other : privateKey)
}

function seal(head: { alg: string }, claims: object, key: KeyObject): string {
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = head.alg === 'RS256' ? sign('sha256', Buffer.from(text), key).toString('base64url') : ''
  return `${text}.${signature}`
}

process.on('message', (order: Order) => {
  obey(order).then(
    (answer) => process.send!(answer),
    (error: unknown) => process.send!({ error: String(error) }),
  )
})
process.once('disconnect', () => process.exit(0))
