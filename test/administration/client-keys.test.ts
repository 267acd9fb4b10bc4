/** Public keys of clients as programs declare them: by value, exactly those, or where they are. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { readPublicJwk } from '../../src/crypto/jwk.ts'
import { addKeys } from '../../src/partners/client-keys.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { fetchItem, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import { makeCertificate } from '../support/certificate.ts'
import { makeKey, printJwks, type TestKey } from '../support/client-keys.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const { branchId } = await house.makePartner()
const [{ name: partner }] = (await ask(
  db,
  `SELECT name FROM object_names WHERE kind = 'partners' AND object_id = $1`,
  [String(branchId)],
)) as [{ name: string }]
const callbackUrl = 'https://app.example.com/callback'
const jwksUri = 'https://app.example.com/jwks'
const clientOf = (name: string) => ({ partner, displayName: `App ${name}`, callbackUrl })
const newPath = () => `/admin/v1/clients/keys-${makeUpWord()}`

const setOf = (...keys: readonly TestKey[]) => ({ keys: keys.map(({ publicJwk }) => publicJwk) })
/** As it is kept, in the order of thumbprints. */
const keptOf = (...keys: readonly TestKey[]) => ({
  keys: keys
    .map(({ publicJwk }) => readPublicJwk(publicJwk))
    .sort((one, other) => (one.thumbprint < other.thumbprint ? -1 : 1))
    .map(({ jwk }) => jwk),
})
const thumbprintsOf = (...keys: readonly TestKey[]) =>
  keys.map(({ publicJwk }) => readPublicJwk(publicJwk).thumbprint).sort()

async function find(path: string) {
  const { spec, status, etag } = await fetchItem(program, path)
  const keys = status.keys as readonly { readonly thumbprint: string }[]
  return {
    ...{ jwks: spec.jwks, jwksUri: spec.jwksUri, clientId: String(status.clientId), etag },
    thumbprints: keys.map(({ thumbprint }) => thumbprint).sort(),
  }
}

const actsOf = (clientId: string) =>
  ask<{ action: string; reason: string | null; thumbprint: string | null }>(
    db,
    `SELECT action, details->>'reason' AS reason, details->>'thumbprint' AS thumbprint FROM audit_entries
     WHERE subject = $1 AND action LIKE 'client.key%' ORDER BY id`,
    [`client:${clientId}`],
  )

test('keys are declared by value as they are kept; the same again changes nothing, in whatever order and with whatever else', async () => {
  const path = newPath()
  const keys = [makeKey('ES256', { kid: 'one' }), makeKey('EdDSA'), makeKey('PS256')]
  const spec = { ...clientOf(path), displayName: 'Keys', jwks: setOf(...keys), profile: 'fapi2' }
  assert.equal(outcomeOf(await program.call('PUT', path, { spec }), 201).outcome, 'created')
  const made = await find(path)
  assert.deepEqual([made.jwks, made.jwksUri], [keptOf(...keys), ''])
  assert.deepEqual(made.thumbprints, thumbprintsOf(...keys))
  for (const jwks of [made.jwks, setOf(...keys.toReversed()), setOf(...keys, keys[0]!), null]) {
    const again = outcomeOf(await program.call('PUT', path, { spec: { jwks } }), 200)
    assert.deepEqual([again.outcome, again.etag], ['unchanged', made.etag])
  }
  assert.deepEqual(
    (await actsOf(made.clientId)).map(({ action, thumbprint }) => [action, thumbprint]),
    thumbprintsOf(...keys).map((thumbprint) => ['client.key_added', thumbprint]),
  )
})

test('exactly the declared keys count: another comes at once, one that goes says why, and the version tells that they moved', async () => {
  const path = newPath()
  const [first, second, third] = [makeKey(), makeKey(), makeKey()]
  outcomeOf(
    await program.call('PUT', path, { spec: { ...clientOf(path), displayName: 'Keys', jwks: setOf(first) } }),
    201,
  )
  const { clientId, etag } = await find(path)
  assert.equal(
    outcomeOf(await program.call('PUT', path, { spec: { jwks: setOf(first, second) } }), 200).outcome,
    'changed',
  )
  // A developer of the partner adds one in the portal.
  await addKeys(db, { id: clientId }, readJwksText(printJwks(third)), house.act())
  assert.deepEqual((await find(path)).thumbprints, thumbprintsOf(first, second, third))
  const late = await program.call('PUT', path, { spec: { jwks: setOf(first, second) } }, { 'if-match': etag })
  assert.equal(late.status, 412)
  assert.deepEqual(late.json<{ moved: unknown }>().moved, ['spec.jwks'])
  for (const left of [setOf(first, second), { keys: [] }]) {
    const unexplained = await program.call('PUT', path, { spec: { jwks: left } })
    assert.equal(unexplained.status, 400)
    assert.match(unexplained.text, /reason is missing/)
  }
  assert.deepEqual((await find(path)).thumbprints, thumbprintsOf(first, second, third))
  const changed = outcomeOf(
    await program.call('PUT', `${path}?reason=Lost`, { spec: { jwks: setOf(second) } }),
    200,
  )
  assert.deepEqual(changed.changes, [
    { field: 'spec.jwks', before: keptOf(first, second, third), after: keptOf(second), proposed: false },
  ])
  const removed = (await actsOf(clientId)).filter(({ action }) => action === 'client.key_removed')
  assert.deepEqual(removed.map(({ thumbprint }) => thumbprint).sort(), thumbprintsOf(first, third))
  assert.ok(removed.every(({ reason }) => reason === 'Lost'))
  outcomeOf(await program.call('PUT', `${path}?reason=All`, { spec: { jwks: { keys: [] } } }), 200)
  assert.deepEqual((await find(path)).thumbprints, [])
  const renamed = { spec: { jwks: setOf(makeKey('ES256', { kid: 'new' })) } }
  const dry = outcomeOf(await program.call('PUT', `${path}?dryRun=true`, renamed), 200)
  assert.equal(dry.outcome, 'changed')
  assert.deepEqual((await find(path)).thumbprints, [])
})

test('keys are given or at an address: what is said of both is refused, and moving between them takes one request', async () => {
  const path = newPath()
  const [first, second] = [makeKey(), makeKey()]
  const base = { ...clientOf(path), displayName: 'Keys' }
  const refuse = async (spec: object) => {
    const answer = await program.call('PUT', `${path}?reason=x`, { spec })
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, 'spec.jwks')
  }
  for (const jwks of [setOf(first), { keys: [] }]) await refuse({ ...base, jwks, jwksUri })
  outcomeOf(await program.call('PUT', path, { spec: { ...base, jwks: setOf(first) } }), 201)
  outcomeOf(await program.call('PUT', path, { spec: { jwksUri } }), 200)
  const placed = await find(path)
  assert.deepEqual([placed.jwks, placed.jwksUri], [null, jwksUri])
  assert.deepEqual(placed.thumbprints, thumbprintsOf(first), 'until others are read')
  const { spec } = await fetchItem(program, path)
  assert.equal(outcomeOf(await program.call('PUT', path, { spec }), 200).outcome, 'unchanged')
  await refuse({ jwks: setOf(second) })
  outcomeOf(await program.call('PUT', `${path}?reason=x`, { spec: { jwksUri: '' } }), 200)
  assert.deepEqual((await find(path)).jwks, keptOf(first), 'as if they were given')
  outcomeOf(await program.call('PUT', path, { spec: { jwksUri, jwks: null } }), 200)
  outcomeOf(
    await program.call('PUT', `${path}?reason=x`, { spec: { jwksUri: '', jwks: setOf(second) } }),
    200,
  )
  const given = await find(path)
  assert.deepEqual([given.jwks, given.jwksUri], [keptOf(second), ''])
})

test('what is wrong with keys is told as everywhere else, by the name of the field, and nothing of them is kept', async () => {
  const path = newPath()
  const { privateKey } = makeKey()
  const key = makeKey().publicJwk
  const { raw: certificate } = new X509Certificate(
    makeCertificate(['app.example.com'], new Date('2020-01-01'), new Date('2049-01-01')).cert,
  )
  const elsewhere = { keys: [{ ...key, crv: 'P-384' }] }
  const eleven = { keys: Array.from({ length: 11 }, () => makeKey('EdDSA').publicJwk) }
  const faults: [jwks: unknown, problem: RegExp][] = [
    [
      { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'mine' }] },
      /^key 1 \(mine\) holds its private part/,
    ],
    [{ keys: [key, { kty: 'oct', k: 'c2VjcmV0' }] }, /^key 2 holds its private part/],
    [elsewhere, /^key 1 must be of the curve P-256/],
    [{ keys: [{ ...key, alg: 'RS256' }] }, /^key 1 must have the alg ES256/],
    [{ keys: [{ ...key, use: 'enc' }] }, /^key 1 is not for signatures/],
    [{ keys: [{ ...key, x: 'AA' }] }, /^key 1 is no public key/],
    [
      { keys: [{ ...key, x5c: [certificate.toString('base64')] }] },
      /^key 1 has an x5c whose first certificate/,
    ],
  ]
  const declare = (jwks: unknown) =>
    program.call('PUT', path, { spec: { ...clientOf(path), displayName: 'Keys', jwks } })
  for (const [jwks, problem] of faults) {
    const answer = await declare(jwks)
    assert.equal(answer.status, 400, answer.text)
    const [fault] = answer.json<{ fields: { field: string; problem: string }[] }>().fields
    assert.equal(fault!.field, 'spec.jwks')
    assert.match(fault!.problem, problem)
  }
  for (const jwks of [eleven, key, [key], { keys: [key], other: 1 }, { keys: ['x'] }, { keys: [{}] }, 'x']) {
    const answer = await declare(jwks)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, /spec\.jwks/)
  }
  assert.equal((await program.call('GET', path)).status, 404)
})

test('keys are declared by whoever may manage partners', async () => {
  const path = newPath()
  outcomeOf(await program.call('PUT', path, { spec: { ...clientOf(path), displayName: 'Keys' } }), 201)
  const viewer = await openAdminProgram(house, { role: 'viewer' })
  assert.equal((await viewer.call('PUT', path, { spec: { jwks: setOf(makeKey()) } })).status, 403)
  assert.deepEqual((await find(path)).thumbprints, [])
})
