/** Clients as programs declare them: what members may choose at once, what is more by another person. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { approveProposal, fetchItem, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { openConsole } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import { answer, openReceiver } from '../support/receiver.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
const decider = await openConsole(house, 'Dora Decider')
const callbackUrl = 'https://app.example.com/callback'
const pathOf = (name: string) => `/admin/v1/clients/${name}`

async function makePartner(): Promise<string> {
  const { branchId } = await house.makePartner()
  const [row] = await ask<{ name: string }>(
    db,
    `SELECT name FROM object_names WHERE kind = 'partners' AND object_id = $1`,
    [String(branchId)],
  )
  return row!.name
}

const partner = await makePartner()
const draftOf = (name: string) => ({ partner, displayName: `App ${name}`, callbackUrl })

test('a client is made with what members may choose, without a secret, and the same again changes nothing', async () => {
  const name = `app-${makeUpWord()}`
  const made = outcomeOf(
    await program.call('PUT', pathOf(name), { spec: draftOf(name), owner: 'platform' }),
    201,
  )
  assert.deepEqual([made.outcome, made.proposals], ['created', []])
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual(item.spec, {
    ...draftOf(name),
    ...{ scopes: ['read', 'market'], scopesAtMost: ['read', 'market'], scopesRequired: [] },
    ...{
      rotateRefreshTokens: false,
      certificateSubject: '',
      jwksUri: '',
      jwks: { keys: [] },
      state: 'active',
    },
    ...{ profile: 'standard', fapi2From: null, bearers: 'end', demandsDpopNonces: false },
  })
  assert.deepEqual([item.status.secrets, item.status.keys], [[], []])
  const again = outcomeOf(await program.call('PUT', pathOf(name), { spec: item.spec }), 200)
  assert.deepEqual([again.outcome, again.changes, again.etag], ['unchanged', [], item.etag])
  const shuffled = { scopes: ['market', 'read'], displayName: `  App ${name} ` }
  assert.equal(
    outcomeOf(await program.call('PUT', pathOf(name), { spec: shuffled }), 200).outcome,
    'unchanged',
  )
})

test('more than read and market on the live site is proposed, and is exactly what was declared when another decides', async () => {
  const name = `wide-${makeUpWord()}`
  const spec = {
    ...draftOf(name),
    ...{ scopesAtMost: ['read', 'market', 'trade'], scopes: ['read'], scopesRequired: ['trade'] },
  }
  const path = `${pathOf(name)}?reason=They+trade`
  const made = outcomeOf(await program.call('PUT', path, { spec }), 202)
  assert.deepEqual([made.outcome, made.proposals[0]?.kind], ['created', 'partner.widen-scopes'])
  const before = (await fetchItem(program, pathOf(name))).spec
  assert.deepEqual(
    [before.scopesAtMost, before.scopes, before.scopesRequired],
    [['read', 'market'], ['read'], []],
  )
  const again = outcomeOf(await program.call('PUT', path, { spec }), 202)
  assert.deepEqual(again.proposals, [{ ...made.proposals[0], isNew: false }])
  assert.deepEqual(
    again.changes.map(({ field, proposed }) => [field, proposed]),
    [
      ['spec.scopesAtMost', true],
      ['spec.scopesRequired', true],
    ],
  )
  const other = { ...spec, scopesAtMost: ['read', 'market', 'trade', 'write'] }
  assert.equal((await program.call('PUT', path, { spec: other })).status, 409)
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const { spec: after } = await fetchItem(program, pathOf(name))
  assert.deepEqual(
    [after.scopesAtMost, after.scopes, after.scopesRequired],
    [['read', 'market', 'trade'], ['read'], ['trade']],
  )
  assert.equal(outcomeOf(await program.call('PUT', path, { spec }), 200).outcome, 'unchanged')
})

test('a new client without anything that members may choose has the least until another decides', async () => {
  const name = `trade-${makeUpWord()}`
  const spec = { ...draftOf(name), scopesAtMost: ['trade'] }
  const path = `${pathOf(name)}?reason=x`
  const made = outcomeOf(await program.call('PUT', path, { spec }), 202)
  assert.deepEqual((await fetchItem(program, pathOf(name))).spec.scopes, ['market'])
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const { spec: after } = await fetchItem(program, pathOf(name))
  assert.deepEqual([after.scopesAtMost, after.scopes], [['trade'], ['trade']])
})

test('in the sandbox nothing of scopes waits, and names there are others', async () => {
  const name = `box-${makeUpWord()}`
  const spec = { ...draftOf(name), scopes: ['trade'], scopesRequired: ['trade'] }
  assert.deepEqual(outcomeOf(await sandbox.call('PUT', pathOf(name), { spec }), 201).proposals, [])
  const { spec: made } = await fetchItem(sandbox, pathOf(name))
  assert.deepEqual([made.scopes, made.scopesRequired], [['trade'], ['trade']])
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const wider = { scopes: ['read', 'trade'], rotateRefreshTokens: true }
  assert.equal(outcomeOf(await sandbox.call('PUT', pathOf(name), { spec: wider }), 200).outcome, 'changed')
})

test('the subject of a certificate is given at once; another, or none, says why', async () => {
  const name = `cert-${makeUpWord()}`
  const subject = 'CN=app.example.com,O=App'
  const spec = { ...draftOf(name), certificateSubject: subject }
  assert.equal(outcomeOf(await program.call('PUT', pathOf(name), { spec }), 201).outcome, 'created')
  assert.equal((await fetchItem(program, pathOf(name))).spec.certificateSubject, subject)
  const put = (certificateSubject: string, why = '') =>
    program.call('PUT', pathOf(name) + why, { spec: { certificateSubject } })
  assert.equal(outcomeOf(await put(` ${subject} `), 200).outcome, 'unchanged')
  assert.match((await put('', '?reason=x')).text, /"outcome":"changed"/)
  assert.equal(outcomeOf(await put(subject), 200).outcome, 'changed')
  for (const other of ['', 'CN=other.example.com']) assert.equal((await put(other)).status, 400)
  const wrong = await put('app.example.com', '?reason=Moved')
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /"field":"[\w.]*certificateSubject","problem":"must be a distinguished name/)
})

test('what takes away says why, a suspended client waits for another person, and DELETE suspends it', async () => {
  const name = `stop-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(name), { spec: draftOf(name), owner: 'ci' }), 201)
  for (const spec of [
    { state: 'suspended' },
    { scopes: ['read'] },
    { scopes: ['read'], scopesAtMost: ['read'] },
  ]) {
    const answer = await program.call('PUT', pathOf(name), { spec })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, /reason is missing/)
  }
  const path = `${pathOf(name)}?reason=Fraud`
  const narrowed = { scopes: ['read'], scopesAtMost: ['read'], state: 'suspended' }
  assert.equal(outcomeOf(await program.call('PUT', path, { spec: narrowed }), 200).outcome, 'changed')
  assert.equal((await program.call('DELETE', pathOf(name))).status, 400)
  const back = outcomeOf(await program.call('PUT', path, { spec: { state: 'active' } }), 202)
  assert.deepEqual([back.outcome, back.proposals[0]!.kind], ['proposed', 'client.activate'])
  assert.equal(await approveProposal(house, decider, back.proposals[0]!.id), 'applied')
  assert.equal((await fetchItem(program, pathOf(name))).spec.state, 'active')
  const ended = outcomeOf(await program.call('DELETE', path), 200)
  assert.deepEqual(
    ended.changes.map(({ field, after }) => [field, after]),
    [
      ['spec.state', 'suspended'],
      ['owner', null],
    ],
  )
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual([item.spec.state, item.owner], ['suspended', null])
})

test('where codes are sent on the live site is for another person to say, and is checked before they are asked', async () => {
  const name = `moved-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(name), { spec: draftOf(name) }), 201)
  const { spec: before } = await fetchItem(program, pathOf(name))
  const path = `${pathOf(name)}?reason=Moved`
  const wrong = await program.call('PUT', path, { spec: { callbackUrl: 'http://elsewhere.example/cb' } })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /callbackUrl/)
  const spec = { callbackUrl: 'https://elsewhere.example/cb', displayName: 'Renamed' }
  const moved = outcomeOf(await program.call('PUT', path, { spec }), 202)
  assert.deepEqual(
    moved.changes.map(({ field, proposed }) => [field, proposed]),
    [
      ['spec.displayName', false],
      ['spec.callbackUrl', true],
    ],
  )
  assert.equal((await fetchItem(program, pathOf(name))).spec.callbackUrl, before.callbackUrl)
  const again = outcomeOf(await program.call('PUT', path, { spec }), 202)
  assert.deepEqual([again.proposals[0]!.id, again.proposals[0]!.isNew], [moved.proposals[0]!.id, false])
  assert.equal(await approveProposal(house, decider, moved.proposals[0]!.id), 'applied')
  assert.equal((await fetchItem(program, pathOf(name))).spec.callbackUrl, spec.callbackUrl)
  assert.equal(outcomeOf(await program.call('PUT', path, { spec }), 200).outcome, 'unchanged')
  const box = `box-${makeUpWord()}`
  outcomeOf(await sandbox.call('PUT', pathOf(box), { spec: draftOf(box) }), 201)
  assert.equal(outcomeOf(await sandbox.call('PUT', pathOf(box), { spec }), 200).outcome, 'changed')
})

test('a dry run changes nothing, a version of before is told what moved, and of two one wins', async () => {
  const name = `dry-${makeUpWord()}`
  const spec = { ...draftOf(name), scopesAtMost: ['read', 'trade'] }
  const dry = outcomeOf(await program.call('PUT', `${pathOf(name)}?dryRun=true`, { spec }), 200)
  assert.deepEqual([dry.outcome, dry.proposals[0]?.id], ['created', 0])
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const both = await Promise.all(
    [1, 2].map(() => program.call('PUT', pathOf(name), { spec: draftOf(name) }, { 'if-none-match': '*' })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 412])
  const { etag } = await fetchItem(program, pathOf(name))
  const answers = await Promise.all(
    ['One', 'Two'].map((displayName) =>
      program.call('PUT', pathOf(name), { spec: { displayName } }, { 'if-match': etag }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
  const lost = answers.find(({ status }) => status === 412)!
  assert.deepEqual(lost.json<{ moved: unknown }>().moved, ['spec.displayName'])
})

test('what is wrong is told by the name of its field', async () => {
  const name = `odd-${makeUpWord()}`
  const good = draftOf(name)
  const faults: [object, string][] = [
    [{ displayName: 'x', callbackUrl }, 'spec.partner'],
    [{ ...good, partner: 'no-such' }, 'spec.partner'],
    [{ ...good, callbackUrl: 'http://app.example.com' }, 'spec.callbackUrl'],
    [{ ...good, displayName: ' ' }, 'spec.displayName'],
    [{ ...good, scopes: ['trade'] }, 'spec.scopes'],
    [{ ...good, scopesRequired: ['trade'] }, 'spec.scopesRequired'],
    [{ ...good, scopes: [] }, 'spec.scopes'],
    [{ ...good, scopes: ['read', 'read'] }, 'spec.scopes'],
    [{ ...good, secret: 'x' }, 'spec.secret'],
  ]
  for (const [spec, field] of faults) {
    const answer = await program.call('PUT', pathOf(name), { spec })
    assert.equal(answer.status, 400, `${field}: ${answer.text}`)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
  outcomeOf(await program.call('PUT', pathOf(name), { spec: good }), 201)
  const moved = await program.call('PUT', pathOf(name), { spec: { partner: await makePartner() } })
  assert.equal(moved.status, 400)
  const viewer = await openAdminProgram(house, { role: 'viewer' })
  assert.equal((await viewer.call('PUT', pathOf(name), { spec: good })).status, 403)
  assert.equal((await viewer.call('GET', pathOf(name))).status, 200)
})

test('nobody declares a client of their own partner', async () => {
  const name = `own-${makeUpWord()}`
  const maker = await house.makeOperator('Own One')
  const robot = await openAdminProgram(house, { maker })
  const own = await house.makePartner()
  const [{ name: ownName }] = (await ask(
    db,
    `SELECT name FROM object_names WHERE kind = 'partners' AND object_id = $1`,
    [String(own.branchId)],
  )) as [{ name: string }]
  const spec = { ...draftOf(name), partner: ownName }
  outcomeOf(await robot.call('PUT', pathOf(name), { spec }), 201)
  await addMember(db, await getPartner(db, String(own.branchId)), maker, house.act())
  for (const [method, path, body] of [
    ['PUT', pathOf(name), { spec: { displayName: 'Mine' } }],
    ['PUT', pathOf(`${name}-2`), { spec }],
    ['DELETE', `${pathOf(name)}?reason=x`, undefined],
  ] as const)
    assert.equal((await robot.call(method, path, body)).status, 403)
  assert.equal((await fetchItem(robot, pathOf(name))).spec.displayName, `App ${name}`)
})

test('a client is moved up at once or with a moment; a lower profile is proposed on the live site', async () => {
  for (const [site, where] of [
    [program, 'live'],
    [sandbox, 'sandbox'],
  ] as const) {
    const name = `bound-${makeUpWord()}`
    const put = async (spec: object) => site.call('PUT', `${pathOf(name)}?reason=x`, { spec })
    const profileOf = async () => {
      const { profile, fapi2From, bearers, demandsDpopNonces } = (await fetchItem(site, pathOf(name))).spec
      return [profile, fapi2From, bearers, demandsDpopNonces]
    }
    const now = house.clock.now().getTime()
    const moving = { fapi2From: now + 60_000, bearers: 'live-out' }
    outcomeOf(await put({ ...draftOf(name), ...moving }), 201)
    assert.deepEqual(await profileOf(), ['fapi2', now + 60_000, 'live-out', false])
    const keyless = await put({ profile: 'fapi2', fapi2From: now })
    assert.equal(keyless.status, 409)
    assert.match(keyless.json<{ error_description: string }>().error_description, /no key to prove itself by/)
    const { clientId } = (await fetchItem(site, pathOf(name))).status
    await ask(db, "UPDATE clients SET jwks_uri = 'https://app.example.com/jwks' WHERE id = $1", [clientId])
    outcomeOf(await put({ profile: 'standard' }), 200)
    assert.deepEqual(await profileOf(), ['standard', null, 'live-out', false], 'what was only planned')
    outcomeOf(await put({ profile: 'fapi2', bearers: 'end', demandsDpopNonces: true }), 200)
    assert.deepEqual(await profileOf(), ['fapi2', now, 'end', true])
    assert.equal(outcomeOf(await put({ profile: 'fapi2' }), 200).outcome, 'unchanged')
    const lower = { profile: 'standard', demandsDpopNonces: false }
    if (where === 'sandbox') outcomeOf(await put(lower), 200)
    else {
      const proposed = outcomeOf(await put(lower), 202)
      assert.equal(proposed.proposals[0]?.kind, 'client.lower-profile')
      assert.deepEqual(
        proposed.changes.map(({ field }) => field),
        ['spec.profile', 'spec.fapi2From', 'spec.demandsDpopNonces'],
      )
      assert.deepEqual(await profileOf(), ['fapi2', now, 'end', true])
      assert.equal(await approveProposal(house, decider, proposed.proposals[0]!.id), 'applied')
    }
    assert.deepEqual(await profileOf(), ['standard', null, 'end', false])
  }
})

test('words of a profile that contradict each other are refused', async () => {
  const name = `odd-${makeUpWord()}`
  const now = house.clock.now().getTime()
  for (const [spec, field] of [
    [{ profile: 'standard', fapi2From: now + 1 }, 'spec.fapi2From'],
    [{ fapi2From: now - 1 }, 'spec.fapi2From'],
  ] as const) {
    const answer = await program.call('PUT', pathOf(name), { spec: { ...draftOf(name), ...spec } })
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(
      answer.json<{ fields: { field: string }[] }>().fields.map((each) => each.field),
      [field],
    )
  }
})

test('the address of its keys is declared; another one or none says why, and keys are told by their thumbprints', async () => {
  const name = `keys-${makeUpWord()}`
  const receiver = await keepOpen(openReceiver())
  receiver.on('/jwks', answer(200, { 'content-type': 'application/json' }, printJwks(makeKey('EdDSA'))))
  const jwksUri = receiver.url('/jwks')
  outcomeOf(await program.call('PUT', pathOf(name), { spec: { ...draftOf(name), jwksUri } }), 201)
  const keys = await eventually('the keys are read', async () => {
    const { status } = await fetchItem(program, pathOf(name))
    return (status.keys as { algorithm: string; thumbprint: string }[]).length > 0 && status.keys
  })
  assert.deepEqual(
    (keys as { algorithm: string }[]).map(({ algorithm }) => algorithm),
    ['EdDSA'],
  )
  const cleared = { spec: { jwksUri: '' } }
  assert.equal((await program.call('PUT', pathOf(name), cleared)).status, 400)
  outcomeOf(await program.call('PUT', `${pathOf(name)}?reason=They+give+them`, cleared), 200)
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual([item.spec.jwksUri, item.status.keys], ['', keys])
  const inside = { spec: { jwksUri: 'https://10.0.0.1/jwks' } }
  const refused = await program.call('PUT', pathOf(name), inside)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /jwksUri must not point to a private or special address/)
})
