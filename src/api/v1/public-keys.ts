/** RFC 7517: GET /.well-known/jwks.json, by which the brokerage's systems verify what this site signs. */
import { publicKeysMaxAgeSeconds } from '../../crypto/token-signer.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'

export const publicKeysPath = '/.well-known/jwks.json'

const PublicKey = Type.Object(
  {
    kty: oneOf(['OKP'], { description: 'The kind of key (RFC 8037).' }),
    crv: oneOf(['Ed25519'], { description: 'Its curve.' }),
    x: text('The public key, base64url.', '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'),
    kid: text('Its thumbprint (RFC 7638).', 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'),
    use: oneOf(['sig'], { description: 'It verifies signatures.' }),
    alg: oneOf(['EdDSA'], { description: 'With this algorithm.' }),
  },
  { title: 'PublicKey', description: 'A key of Ed25519.' },
)

const PublicKeys = Type.Object(
  { keys: Type.Array(PublicKey, { description: 'More than one while keys are rotated.' }) },
  { title: 'PublicKeys', description: 'A set of keys as RFC 7517 describes it.' },
)

export const publicKeys: Endpoint<undefined> = {
  cors: '*',
  schema: {
    operationId: 'getPublicKeys',
    summary: 'The public keys of what this site signs',
    description:
      'RFC 7517. A key is here before it signs, and until it is pruned. Ask again when a signature names a `kid` that you do not know.',
    tags: ['Discovery'],
    security: [],
    response: { 200: PublicKeys },
  },
  handle({ signer }, _caller, _request, reply) {
    reply.header('cache-control', `public, max-age=${publicKeysMaxAgeSeconds}`)
    return reply.send({ keys: signer.publicKeys() })
  },
}
