/** Keys of clients at addresses of their partners: read by the worker, and by nobody else. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after as afterAll, test } from 'node:test'
import { pino } from 'pino'
import { after, day, hour, minute, second } from '../../src/clock.ts'
import { type Client, setClientStatus } from '../../src/partners/client.ts'
import { addKeys, listKeys, removeKey } from '../../src/partners/client-keys.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { openKeyReader } from '../../src/partners/key-reader.ts'
import { findKeySet, placeKeys, wantKeys } from '../../src/partners/key-sets.ts'
import { ask } from '../support/ask.ts'
import { makeCertificate } from '../support/certificate.ts'
import { makeKey, printJwks, type TestKey } from '../support/client-keys.ts'
import { openDnsServer } from '../support/dns-server.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { answer, type Behaviour, flood, gate, hang, openReceiver } from '../support/receiver.ts'

const house = await openHouse()
const { db, config } = house.gateway.context
const receiver = await openReceiver()
afterAll(() => receiver.close())

const json = { 'content-type': 'application/json' }
const jwks = (keys: readonly TestKey[], headers: Record<string, string> = {}): Behaviour =>
  answer(200, { ...json, ...headers }, printJwks(...keys))
const named = (kid: string) => makeKey('ES256', { kid })

interface Look {
  readonly readAt: Date | null
  readonly failedSince: Date | null
  readonly fault: string | null
  readonly dueInMs: number
}

/** When nothing of it is due or under way. */
function looked(client: Pick<Client, 'id'>): Promise<Look> {
  return eventually('the keys were looked for', async () => {
    const [row] = await ask<Omit<Look, 'dueInMs'> & { dueAt: Date; isOpen: boolean }>(
      db,
      `SELECT read_at AS "readAt", failed_since AS "failedSince", fault, due_at AS "dueAt",
         claimed_at IS NOT NULL OR due_at <= $2 AS "isOpen" FROM client_key_sets WHERE client_id = $1`,
      [client.id, house.clock.now()],
    )
    if (!row || row.isOpen) return undefined
    return { ...row, dueInMs: row.dueAt.getTime() - house.clock.now().getTime() }
  })
}

const place = (client: Pick<Client, 'id'>, jwksUri: string | null) =>
  placeKeys(db, client, { jwksUri, policy: config.webhooks }, house.act())

async function placed(path: string, behaviour: Behaviour) {
  receiver.on(path, behaviour)
  const client = await house.makeClient()
  await place(client, receiver.url(path))
  return { client, look: await looked(client) }
}

async function kidsOf(client: Pick<Client, 'id'>): Promise<(string | null)[]> {
  return (await listKeys(db, client.id)).map((key) => key.kid)
}

const actsOn = (client: Pick<Client, 'id'>, action: string) =>
  ask<{ actor: string; details: Record<string, unknown> }>(
    db,
    'SELECT actor, details FROM audit_entries WHERE subject = $1 AND action = $2 ORDER BY id',
    [`client:${client.id}`, action],
  )

test('keys at an address are read at once, and what left the set ends with the next reading', async () => {
  const [first, second, third] = [named('1'), named('2'), named('3')]
  const { client, look } = await placed('/set', jwks([first, second]))
  assert.deepEqual([look.readAt, look.fault, look.dueInMs], [house.clock.now(), null, 10 * minute])
  assert.deepEqual(await kidsOf(client), ['1', '2'])
  assert.equal(receiver.at('/set')[0]!.headers.accept, 'application/jwk-set+json, application/json')
  const before = await listKeys(db, client.id)
  receiver.on('/set', jwks([second, third]))
  house.clock.advance(10 * minute)
  await looked(client)
  assert.deepEqual(await kidsOf(client), ['2', '3'])
  assert.deepEqual((await listKeys(db, client.id))[0], before[1], 'what stays is as old as it was')
  assert.deepEqual(
    (await actsOn(client, 'client.key_removed')).map(({ actor, details }) => [actor, details]),
    [['gateway', { thumbprint: before[0]!.thumbprint }]],
  )
  assert.equal((await actsOn(client, 'client.key_added')).length, 3)
})

test('a key that gets another name keeps its age', async () => {
  const key = named('old name')
  const { client } = await placed('/renamed', jwks([key]))
  const [before] = await listKeys(db, client.id)
  receiver.on('/renamed', jwks([{ ...key, publicJwk: { ...key.publicJwk, kid: 'new name' } }]))
  house.clock.advance(10 * minute)
  await looked(client)
  assert.deepEqual(await listKeys(db, client.id), [
    { ...before, kid: 'new name', jwk: { ...before!.jwk, kid: 'new name' } },
  ])
})

test('a set with an entity tag is asked for by it, and one that is as it was costs nothing', async () => {
  const { client } = await placed('/tagged', jwks([named('1')], { etag: '"one"' }))
  receiver.on('/tagged', answer(304))
  house.clock.advance(10 * minute)
  const look = await looked(client)
  assert.deepEqual([look.readAt, look.fault], [house.clock.now(), null])
  assert.equal(receiver.at('/tagged')[1]!.headers['if-none-match'], '"one"')
  assert.deepEqual(await kidsOf(client), ['1'])
})

test('an answer says how long it is good for, between a minute and a day', async () => {
  const cases: [string, number][] = [
    ['max-age=1200', 20 * minute],
    ['public, max-age=5', minute],
    ['max-age=999999999', day],
    ['no-store', minute],
    ['max-age=3600, no-cache', minute],
    ['private', 10 * minute],
  ]
  for (const [index, [cacheControl, expected]] of cases.entries()) {
    const { look } = await placed(`/age/${index}`, jwks([named('1')], { 'cache-control': cacheControl }))
    assert.equal(look.dueInMs, expected, cacheControl)
  }
})

test('what cannot be read changes nothing, and is told with its reason', async () => {
  const { port } = receiver
  const burnt = { ...named('burnt').privateKey.export({ format: 'jwk' }) }
  const eleven = Array.from({ length: 11 }, () => makeKey())
  const cases: Record<string, [Behaviour, string]> = {
    redirect: [
      answer(302, { location: receiver.url('/elsewhere') }),
      'The address answers with status 302: it must answer itself, and is not followed elsewhere',
    ],
    missing: [answer(404, json, '{}'), 'The address answers with status 404'],
    broken: [answer(503, json), `127.0.0.1:${port} answers with status 503`],
    type: [
      answer(200, { 'content-type': 'text/html' }, printJwks(makeKey())),
      'The answer must have the content type application/jwk-set+json or application/json',
    ],
    words: [answer(200, json, 's3cr3t'), 'The set must be a JWKS in JSON'],
    empty: [answer(200, json, '{"keys":[]}'), 'The set holds no key'],
    many: [jwks(eleven), 'The set holds more than 10 keys that can be used'],
    private: [
      answer(200, json, JSON.stringify({ keys: [burnt] })),
      'The set key 1 holds its private part. Whoever has seen it can sign with it: make another key, and send the public one alone',
    ],
    unasked: [
      answer(304),
      'The address answers with status 304: it must answer itself, and is not followed elsewhere',
    ],
    endless: [flood, `127.0.0.1:${port} answers with more than 64 KiB`],
    silent: [hang, `127.0.0.1:${port} does not answer: no answer within 5 seconds`],
  }
  await Promise.all(
    Object.entries(cases).map(async ([name, [behaviour, expected]]) => {
      receiver.on(`/bad/${name}`, behaviour)
      const client = await house.makeClient()
      await addKeys(db, client, readJwksText(printJwks(named('given'))), house.act())
      await place(client, receiver.url(`/bad/${name}`))
      const look = await looked(client)
      const { fault, failedSince, dueInMs } = look
      assert.deepEqual(
        { fault, failedSince, dueInMs },
        { fault: expected, failedSince: house.clock.now(), dueInMs: minute },
      )
      assert.deepEqual(await kidsOf(client), ['given'], name)
    }),
  )
  assert.deepEqual(receiver.at('/elsewhere'), [])
  const kept = await ask<{ all: string }>(
    db,
    `SELECT string_agg(details::text, '') AS all FROM audit_entries`,
  )
  for (const secret of [burnt.d!, 's3cr3t']) assert.ok(!kept[0]!.all.includes(secret))
})

test('keys of a set that cannot be used are left out and named; two of one name are both taken', async () => {
  const set = [
    { ...named('twin').publicJwk },
    { ...makeKey('EdDSA', { kid: 'twin' }).publicJwk },
    { ...makeKey('PS256', { kid: 'encrypts', use: 'enc' }).publicJwk },
  ]
  const text = JSON.stringify({ keys: set })
  const { client, look } = await placed('/mixed', answer(200, { ...json, etag: '"mixed"' }, text))
  assert.equal(look.fault, 'key 3 (encrypts) is not for signatures: its use must be sig')
  assert.equal(look.failedSince, null)
  assert.deepEqual(await kidsOf(client), ['twin', 'twin'])
  house.clock.advance(10 * minute)
  assert.equal((await looked(client)).fault, look.fault)
  assert.equal(receiver.at('/mixed')[1]!.headers['if-none-match'], undefined)
})

function certified(kid: string) {
  const { cert } = makeCertificate([kid], house.clock.now(), after(house.clock.now(), day))
  const { raw, publicKey } = new X509Certificate(cert)
  return { ...publicKey.export({ format: 'jwk' }), kid, x5c: [raw.toString('base64')] }
}

test('the first certificate of a key is of that very key; one that is not leaves the key out, and is named', async () => {
  const own = certified('own')
  const foreign = { ...certified('foreign'), x5c: certified('own').x5c }
  const text = JSON.stringify({ keys: [own, foreign] })
  const { client, look } = await placed('/certificates', answer(200, json, text))
  assert.equal(look.fault, 'key 2 (foreign) has an x5c whose first certificate is of another key')
  assert.deepEqual(
    (await listKeys(db, client.id)).map(({ kid, jwk }) => [kid, jwk.x5c]),
    [['own', own.x5c]],
  )
})

test('a set that fails is read again soon, then seldom; after a week its keys end', async () => {
  const { client } = await placed('/dying', jwks([named('1')]))
  receiver.on('/dying', answer(500))
  house.clock.advance(10 * minute)
  const first = await looked(client)
  assert.equal(first.dueInMs, minute)
  house.clock.advance(hour)
  const later = await looked(client)
  assert.deepEqual([later.dueInMs, later.failedSince], [10 * minute, first.failedSince])
  house.clock.advance(6 * day)
  await looked(client)
  assert.deepEqual(await kidsOf(client), ['1'])
  house.clock.advance(day)
  await looked(client)
  assert.deepEqual(await kidsOf(client), [])
  receiver.on('/dying', jwks([named('2')]))
  house.clock.advance(10 * minute)
  assert.deepEqual([(await looked(client)).fault, await kidsOf(client)], [null, ['2']])
})

test('an unknown key has the set read at once, and at most once in half a minute', async () => {
  const { client } = await placed('/rotating', jwks([named('1')]))
  receiver.on('/rotating', jwks([named('1'), named('2')]))
  const other = await openHouse({ DATABASE_URL: house.databaseUrl, SECRET_KEY: house.settings.SECRET_KEY })
  const { clients } = other.gateway.context
  assert.equal((await clients.find(client.id))!.keys.length, 1)
  const asked = await Promise.all(
    Array.from({ length: 10 }, () => wantKeys(db, client.id, house.clock.now())),
  )
  // Who asks after it was read hears that nothing is to come.
  assert.ok(asked.includes(true))
  await eventually('another node knows it', async () => (await clients.find(client.id))!.keys.length === 2)
  await looked(client)
  assert.equal(receiver.at('/rotating').length, 2)
  assert.equal(await wantKeys(db, client.id, house.clock.now()), false)
  house.clock.advance(30 * second)
  assert.equal(await wantKeys(db, client.id, house.clock.now()), true)
  await looked(client)
  assert.equal(receiver.at('/rotating').length, 3)
  assert.equal(await wantKeys(db, (await house.makeClient()).id, house.clock.now()), false)
})

test('of several nodes one reads a set, and whoever wants it meanwhile has it read once more', async () => {
  await openHouse({ DATABASE_URL: house.databaseUrl, SECRET_KEY: house.settings.SECRET_KEY })
  const held = gate(jwks([named('1')]))
  receiver.on('/held', held.behaviour)
  const client = await house.makeClient()
  await place(client, receiver.url('/held'))
  await receiver.count('/held', 1)
  house.clock.advance(second)
  assert.equal(await wantKeys(db, client.id, house.clock.now()), true)
  held.open()
  await receiver.count('/held', 2)
  await looked(client)
  assert.deepEqual([receiver.at('/held').length, receiver.mostAtOnce('/held')], [2, 1])
})

test('slow addresses hold up their own partner alone', async () => {
  const partner = await house.makePartner()
  const held = gate(jwks([named('1')]))
  receiver.on('/slow', held.behaviour)
  const slow = await house.makeClient({ partner })
  const next = await house.makeClient({ partner })
  await place(slow, receiver.url('/slow'))
  await receiver.count('/slow', 1)
  receiver.on('/next', jwks([named('1')]))
  await place(next, receiver.url('/next'))
  await placed('/another', jwks([named('1')]))
  assert.deepEqual(receiver.at('/next'), [])
  held.open()
  await receiver.count('/next', 1)
  await looked(next)
})

test('what an address answered late does not count for the address after it', async () => {
  const held = gate(jwks([named('late')]))
  receiver.on('/late', held.behaviour)
  const client = await house.makeClient()
  await place(client, receiver.url('/late'))
  await receiver.count('/late', 1)
  receiver.on('/after', jwks([named('after')]))
  await place(client, receiver.url('/after'))
  await looked(client)
  held.open()
  await receiver.until(() => receiver.underWay('/late') === 0, 'the end of the late answer')
  house.clock.advance(10 * minute)
  await looked(client)
  assert.deepEqual(await kidsOf(client), ['after'])
  assert.equal((await actsOn(client, 'client.key_added')).length, 1)
})

test('the keys of a client that is suspended are not read, until it is active again', async () => {
  const { client } = await placed('/suspended', jwks([named('1')]))
  await setClientStatus(db, client, 'suspended', house.act())
  house.clock.advance(10 * minute)
  // Due at the same time, and read: so would this one have been.
  const { client: witness } = await placed('/witness', jwks([named('1')]))
  house.clock.advance(10 * minute)
  await looked(witness)
  assert.equal(receiver.at('/suspended').length, 1)
  await setClientStatus(db, client, 'active', house.act())
  await looked(client)
  assert.equal(receiver.at('/suspended').length, 2)
})

test('keys are given or at an address; without the address they stay as if given', async () => {
  const { client } = await placed('/either', jwks([named('1')]))
  const [key] = await listKeys(db, client.id)
  const given = readJwksText(printJwks(makeKey()))
  await assert.rejects(
    addKeys(db, client, given, house.act()),
    /are read at its own address\. Add the key there/,
  )
  await assert.rejects(removeKey(db, client, key!.id, house.act()), /Remove the key there/)
  await place(client, null)
  assert.equal(await findKeySet(db, client.id), undefined)
  assert.deepEqual(await kidsOf(client), ['1'])
  await removeKey(db, client, key!.id, house.act())
  const told = (await actsOn(client, 'client.keys_placed')).map(({ details }) => details)
  assert.deepEqual(told, [{ jwksUri: receiver.url('/either') }, { jwksUri: null }])
})

test('an address inside is refused when it is given, and again when it is dialled', async () => {
  const client = await house.makeClient()
  const policy = { allowLoopback: false, ports: [443], builtIn: 'https://built-in.example/' }
  const refused = [
    'file:///etc/passwd',
    'ftp://keys.example/jwks',
    'http://keys.example/jwks',
    'https://127.0.0.1/jwks',
    'https://[::1]/jwks',
    'https://10.0.0.1/jwks',
    'https://169.254.169.254/latest',
    'https://localhost/jwks',
    'https://keys.example:8443/jwks',
    'https://user:word@keys.example/jwks',
    'jwks.json',
  ]
  for (const jwksUri of refused)
    await assert.rejects(
      placeKeys(db, client, { jwksUri, policy }, house.act()),
      /^Error: jwksUri must /,
      jwksUri,
    )

  const dns = await keepOpen(openDnsServer({ 'keys.example': ['127.0.0.1'] }))
  const apart = await openHouse({ ROLES: 'api' })
  const { db: there } = apart.gateway.context
  const strict = openKeyReader({
    ...{ db: there, clock: apart.clock, log: pino({ level: 'silent' }) },
    ...{ closing: new AbortController().signal, network: { policy, dnsServers: [dns.address] } },
  })
  receiver.on('/inside', jwks([named('1')]))
  const cases: [string, string][] = [
    [receiver.url('/inside'), 'The address must begin with https://'],
    [
      'https://keys.example/jwks',
      'keys.example does not answer: keys.example leads to an address that is not allowed.',
    ],
  ]
  for (const [jwksUri, fault] of cases) {
    const lured = await apart.makeClient()
    await placeKeys(there, lured, { jwksUri, policy: config.webhooks }, apart.act())
    await strict.begin()
    await strict.close()
    assert.equal((await findKeySet(there, lured.id))!.fault, fault)
  }
  assert.deepEqual(receiver.at('/inside'), [])
})
