/** What a declared client proves itself by: its public keys, given or at an address, and a certificate. */
import { isDeepStrictEqual } from 'node:util'
import { longestSubject, setCertificateSubject } from '../partners/certificate-subject.ts'
import type { Client } from '../partners/client.ts'
import { type ClientKey, listKeys, setKeys } from '../partners/client-keys.ts'
import { type ClientJwk, mostKeys, type ReadJwks, readJwksValue } from '../partners/jwks.ts'
import { placeKeys } from '../partners/key-sets.ts'
import { Invalid } from '../problem.ts'
import { Type, text } from '../vocabulary/schema.ts'
import type { Work } from './kind.ts'

export interface ProofSpec {
  /** Empty: none. */
  readonly certificateSubject: string
  /** Empty: its keys are given. */
  readonly jwksUri: string
  /** Null: they are read at `jwksUri`; where that is empty, they stay as they are. */
  readonly jwks: { readonly keys: readonly object[] } | null
}

const exampleKey = {
  ...{ kid: '2027-03', kty: 'EC', crv: 'P-256' },
  x: 'kFw7EHzWuprjkBzV_SV4mGoMALCjZaOXXjM3O-Pu-Nc',
  y: 'zx22vkme8PutwQyfuDTlvR02EW73PPe59cf7W6X3Cv4',
}

const keyType = Type.Object(
  {
    kty: text('EC (P-256), OKP (Ed25519) or RSA (2,048 bits or more).', 'EC'),
    kid: Type.Optional(text('Which of several it is.', '2027-03')),
  },
  {
    title: 'PublicJwk',
    description:
      'A public key as a JWK (RFC 7517). The members that are the key are kept, with `kid` and the first certificate of `x5c`; one that holds a private member is refused.',
    additionalProperties: true,
  },
)

export const proofFields = {
  certificateSubject: Type.Optional(
    text(
      'The subject (RFC 4514) of its certificate, by an authority of MTLS_CA_FILE; empty: none.',
      'CN=acme.example,O=Acme,C=US',
      { maxLength: longestSubject },
    ),
  ),
  jwksUri: Type.Optional(
    text(
      'Where its public keys are, as a JWKS that the gateway reads; empty: they are given, and stay.',
      'https://acme.example/jwks.json',
      { maxLength: 2_000 },
    ),
  ),
  jwks: Type.Optional(
    Type.Unsafe<ProofSpec['jwks']>({
      title: 'ClientJwks',
      type: ['object', 'null'],
      properties: { keys: Type.Array(keyType, { description: 'Each once.', maxItems: mostKeys }) },
      required: ['keys'],
      additionalProperties: false,
      description:
        'Its public keys, exactly these, where no `jwksUri` says where they are; none in a new one unless given. Null beside `jwksUri`; elsewhere null leaves them as they are.',
      examples: [{ keys: [exampleKey] }],
    }),
  ),
}

/** As they are kept. What is wrong with keys is told when they are set. */
export function tidyProofs({ certificateSubject, jwksUri, jwks }: Partial<ProofSpec>): Partial<ProofSpec> {
  return {
    ...(certificateSubject !== undefined && { certificateSubject: certificateSubject.trim() }),
    ...(jwksUri !== undefined && { jwksUri: jwksUri.trim() }),
    ...(jwks !== undefined && { jwks: jwks && tidyKeys(jwks) }),
    ...(jwks === undefined && jwksUri?.trim() && { jwks: null }),
  }
}

function tidyKeys(given: NonNullable<ProofSpec['jwks']>) {
  const { keys, problems } = readGiven(given)
  return problems.length > 0 ? given : printKeys(keys)
}

/** In an order of their own: that in which they came says nothing. */
function printKeys(keys: readonly { readonly thumbprint: string; readonly jwk: ClientJwk }[]) {
  const inOrder = keys.toSorted((one, other) => (one.thumbprint < other.thumbprint ? -1 : 1))
  return { keys: inOrder.map(({ jwk }) => jwk) }
}

/** Unlike one that is pasted, a set that is declared may be empty. */
function readGiven(given: NonNullable<ProofSpec['jwks']>): ReadJwks {
  return given.keys.length === 0 ? { keys: [], problems: [] } : readJwksValue(given)
}

export function describeProofs(client: Client, keys: readonly ClientKey[]): ProofSpec {
  return {
    certificateSubject: client.certificateSubject ?? '',
    jwksUri: client.jwksUri ?? '',
    jwks: client.jwksUri === null ? printKeys(keys) : null,
  }
}

/** As a secret of it is made: at once. What takes away one that it had says why. */
export async function changeProofs(work: Work, client: Client, wanted: ProofSpec): Promise<void> {
  if (wanted.jwksUri !== '' && wanted.jwks !== null)
    throw new Invalid([
      { field: 'jwks', problem: 'must be null, or jwksUri empty: its keys are given or read there' },
    ])
  await changeSubject(work, client, wanted)
  await changePlace(work, client, wanted)
  if (wanted.jwks !== null) await changeKeys(work, client, wanted.jwks)
}

async function changeSubject(work: Work, client: Client, wanted: ProofSpec): Promise<void> {
  const certificateSubject = wanted.certificateSubject || null
  if (certificateSubject === client.certificateSubject) return
  const act = client.certificateSubject === null ? work.act : work.reasoned()
  await setCertificateSubject(work.sql, client, certificateSubject, act)
}

/** The keys that it has stay until others are read. */
async function changePlace(work: Work, client: Client, wanted: ProofSpec): Promise<void> {
  const jwksUri = wanted.jwksUri || null
  if (jwksUri === client.jwksUri) return
  const act = client.jwksUri === null ? work.act : work.reasoned()
  await placeKeys(work.sql, client, { jwksUri, policy: work.guard }, act)
}

async function changeKeys(work: Work, client: Client, wanted: NonNullable<ProofSpec['jwks']>): Promise<void> {
  const kept = await listKeys(work.sql, client.id)
  if (isDeepStrictEqual(wanted, printKeys(kept))) return
  const given = readGiven(wanted)
  const staying = new Set(given.keys.map(({ thumbprint }) => thumbprint))
  const takesAway = kept.some(({ thumbprint }) => !staying.has(thumbprint))
  await setKeys(work.sql, client, given, takesAway ? work.reasoned() : work.act)
}
