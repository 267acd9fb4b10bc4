/** A gateway with TLS of its own and an authority for certificates, and clients that libraries sign in as. */
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, fetch as fetchBy, setGlobalDispatcher } from 'undici'
import { day } from '../../../src/clock.ts'
import { setCertificateSubject } from '../../../src/partners/certificate-subject.ts'
import { addKeys } from '../../../src/partners/client-keys.ts'
import { setProfile } from '../../../src/partners/client-profile.ts'
import { readJwksText } from '../../../src/partners/jwks.ts'
import type { Environment } from '../../../src/vocabulary/environment.ts'
import { type Certificate, issueCertificate } from '../../support/certificate.ts'
import { callbackUrl } from '../../support/fapi.ts'
import { openHouse, type TestClient } from '../../support/gateway.ts'
import { makeFolder } from '../../support/process.ts'
import { approveForm } from '../../support/web.ts'

const folder = makeFolder()
const write = (name: string, held: string) => {
  writeFileSync(join(folder, name), held)
  return join(folder, name)
}
const times = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }
const own = issueCertificate({ subject: [['CN', 'localhost']], altNames: ['localhost'], ...times })
const authority = issueCertificate({ subject: [['CN', 'Authority']], isAuthority: true, ...times })
export const house = await openHouse({
  ...{ HOST: 'localhost', MTLS_PORT: '0', MTLS_CA_FILE: write('authority.pem', authority.cert) },
  ...{ TLS_CERT_FILE: write('own.pem', own.cert), TLS_KEY_FILE: write('own.key', own.key) },
})
const { db } = house.gateway.context
setGlobalDispatcher(new Agent({ connect: { ca: own.cert } }))

/** Libraries read the clock of the machine. */
function setClock(): void {
  house.clock.advance(Math.max(0, Date.now() - house.clock.now().getTime()))
}
setClock()

export type Fetch = (url: string, options: object) => Promise<Response>

/** As a program fetches that trusts the gateway's certificate, and shows one of its own, if it has one. */
export function fetchWith(shown?: Certificate): Fetch {
  const dispatcher = new Agent({
    connect: { ca: own.cert, ...(shown && { cert: shown.cert, key: shown.key }) },
  })
  return (url, options) => {
    setClock()
    return fetchBy(url, { ...options, dispatcher }) as unknown as Promise<Response>
  }
}

export const issueSelfSigned = () => issueCertificate({ subject: [['CN', 'Pal']], ...times })
const subject = [['CN', 'pal.example']] as const
export const issueByAuthority = () =>
  issueCertificate({ subject, issuer: authority, usage: 'client', ...times })

export function keyOf({ cert }: Certificate): object {
  const { publicKey, raw } = new X509Certificate(cert)
  return { ...publicKey.export({ format: 'jwk' }), x5c: [raw.toString('base64')] }
}

interface Registered {
  readonly environment: Environment
  readonly demandsDpopNonces: boolean
  /** Without one, it is known by the subject that the authority vouches for. */
  readonly jwk?: object | undefined
}

export async function makeClient({ environment, demandsDpopNonces, jwk }: Registered): Promise<TestClient> {
  const client = await house.makeClient({ callbackUrl, environment })
  if (jwk) await addKeys(db, client, readJwksText(JSON.stringify({ keys: [jwk] })), house.act())
  else await setCertificateSubject(db, client, 'CN=pal.example', house.act())
  await setProfile(db, client, { from: house.clock.now(), demandsDpopNonces }, house.act())
  return client
}

export async function approveAt(address: URL, environment: Environment): Promise<URL> {
  const browser = await house.signIn(await house.makeUser(), environment)
  const start = await browser.get(address.href)
  if (start.status !== 302) throw new Error(`${start.status} ${start.text}`)
  const page = await browser.get((await browser.get(start.location!)).location!)
  return new URL((await browser.post('/consent', approveForm(page))).location!)
}
