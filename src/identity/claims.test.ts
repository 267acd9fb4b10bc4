import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ProviderFault,
  parseIdToken,
  parseKeys,
  parseLogout,
  parseLogoutHead,
  parseMetadata,
  parsePerson,
  UntrustedClaims,
} from './claims.ts'
import type { Provider } from './provider.ts'

const provider = {
  ...{
    kind: 'staff',
    issuer: 'https://login.example.com',
    label: 'Example',
    clientId: 'countersign',
    linkClaim: 'customer_id',
  },
  ...{ strongAcr: ['strong'], strongAmr: ['mfa'], rolesClaim: 'groups', roleMap: { audit: 'auditor' } },
} as unknown as Provider
const now = new Date('2026-01-05T12:00:00Z')

/** What JSON can hold and no provider means. */
const hostile: readonly unknown[] = [
  ...[
    undefined,
    null,
    '',
    ' ',
    'a\0b',
    '\ud800',
    '\u202ex',
    '__proto__',
    'constructor',
    'x'.repeat(5_000),
    'https://',
  ],
  ...[
    0,
    -0,
    -1,
    1.5,
    1e308,
    -1e308,
    2 ** 60,
    Number.NaN,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    [undefined],
    ['a\0b', 7],
  ],
  ...[{ toString: 1 }, { length: 1 }, { '': { a: [] } }, JSON.parse('{"__proto__": {"a": 1}}')],
]

/** Strings that PostgreSQL takes, in text and in JSON. */
function assertStorable(value: unknown, about: string): void {
  const text = JSON.stringify(value) ?? ''
  assert.ok(!text.includes('\\u0000') && !/\\ud[89a-f]/.test(text), `${about}: ${text}`)
}

function assertJudged(judge: () => unknown, about: string): void {
  try {
    assertStorable(judge(), about)
  } catch (error) {
    assert.ok(error instanceof UntrustedClaims || error instanceof ProviderFault, `${about}: ${error}`)
    assert.notEqual(error.message, '')
  }
}

const metadata = {
  issuer: provider.issuer,
  authorization_endpoint: 'https://login.example.com/a',
  token_endpoint: 'https://login.example.com/t',
  jwks_uri: 'https://login.example.com/k',
}
const samples: Record<
  string,
  [said: Record<string, unknown>, parse: (said: never) => unknown, names: string[]]
> = {
  metadata: [
    metadata,
    (said) => parseMetadata(said, provider, false),
    [
      ...Object.keys(metadata),
      ...[
        'userinfo_endpoint',
        'end_session_endpoint',
        'pushed_authorization_request_endpoint',
        'acr_values_supported',
      ],
      ...[
        'code_challenge_methods_supported',
        'id_token_signing_alg_values_supported',
        'backchannel_logout_supported',
      ],
      ...['authorization_response_iss_parameter_supported', 'backchannel_logout_session_supported', 'more'],
    ],
  ],
  'ID token': [
    { sub: 'ada' },
    (said) => parseIdToken(said, provider, now),
    ['sub', 'sid', 'azp', 'auth_time', 'acr', 'amr'],
  ],
  person: [
    {},
    (said) => [parsePerson(said, {}, provider), parsePerson({}, said, provider)],
    ['customer_id', 'groups', 'name', 'email', 'email_verified'],
  ],
  'logout token': [
    { sub: 'ada', jti: '1', events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
    parseLogout,
    ['sub', 'sid', 'jti', 'events', 'nonce'],
  ],
  'head of a logout token': [
    { typ: 'logout+jwt', alg: 'RS256', aud: 'countersign', iat: 1, exp: 2 },
    (said) => {
      const { type, algorithm, kid, issuedAt } = parseLogoutHead(said, said)
      return [type.length, algorithm, kid, issuedAt]
    },
    ['typ', 'alg', 'kid', 'aud', 'iat', 'exp'],
  ],
  key: [
    { kty: 'RSA', n: 'x', e: 'AQAB', kid: '1' },
    (key) => parseKeys({ keys: [key] }),
    ['kty', 'n', 'e', 'x', 'y', 'crv', 'kid', 'use', 'alg', 'key_ops'],
  ],
}

for (const [what, [sample, parse, names]] of Object.entries(samples))
  test(`whatever a provider says, each ${what} becomes a value that can be kept, or is refused with a reason`, () => {
    assert.doesNotThrow(() => parse(sample as never), 'the sample itself is right')
    for (const value of hostile) {
      for (const name of names)
        assertJudged(() => parse({ ...sample, [name]: value } as never), `${name} ${JSON.stringify(value)}`)
    }
  })

test('documents that are none are refused, or hold no key', () => {
  for (const value of hostile) {
    assert.throws(() => parseMetadata(value, provider, false), ProviderFault)
    assert.deepEqual(parseKeys(value), { keys: [] })
    assert.deepEqual(parseKeys({ keys: value }), { keys: [] })
  }
})

test('addresses that need not be there are left out, and named, when nobody can use them', () => {
  const unusable = [
    'http://login.example.com/out',
    'javascript:alert(1)',
    'https://',
    'https://a:b@login.example.com/',
    7,
  ]
  for (const address of unusable) {
    const said = parseMetadata({ ...metadata, end_session_endpoint: address }, provider, false)
    assert.deepEqual(said.unusable, ['end_session_endpoint'])
    assert.equal(said.metadata.end_session_endpoint, undefined)
  }
})

test('a second factor is what the provider was said to call one, and nothing that looks like it', () => {
  const factor = (more: object) =>
    parseIdToken({ sub: 'ada', auth_time: now.getTime() / 1_000, ...more }, provider, now).factorAt
  assert.deepEqual(factor({ acr: 'strong' }), now)
  assert.deepEqual(factor({ amr: ['pwd', 'mfa'] }), now)
  for (const more of [{ acr: ['strong'] }, { amr: 'mfa' }, { amr: { 0: 'mfa' } }, { acr: 'strong ' }, {}])
    assert.equal(factor(more), undefined, JSON.stringify(more))
})

test('an address is taken only where the provider says that it has verified it', () => {
  const email = (more: object) => parsePerson({ email: 'olga@example.com', ...more }, {}, provider).email
  assert.equal(email({ email_verified: true }), 'olga@example.com')
  const said = { email: 'eve@example.com', email_verified: true }
  assert.equal(
    parsePerson({ email: 'olga@example.com' }, said, provider).email,
    undefined,
    'nor of another address',
  )
  for (const more of [
    {},
    { email_verified: false },
    { email_verified: 1 },
    { email: 'Olga', email_verified: true },
  ])
    assert.equal(email(more), undefined, JSON.stringify(more))
})
