/** Whatever text is sent in a field, it is taken or refused: the database never fails of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approveProposal, nameOfObject, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const partner = await nameOfObject(db, 'partners', (await house.makePartner()).branchId)
const callbackUrl = 'https://app.example.com/callback'
const strange = ['a\0b', '\ud800', '\u202e', ' ', 'x\r\ny', '\u{1f600}'.repeat(60)]

/** Of each kind what could be made, and its fields that hold text, in lists or by themselves. */
const kinds: Readonly<Record<string, readonly [object, readonly string[]]>> = {
  partners: [{ displayName: 'Acme' }, ['displayName', 'state']],
  clients: [
    { partner, displayName: 'App', callbackUrl },
    ['partner', 'displayName', 'callbackUrl', 'scopes[]', 'state'],
  ],
  services: [{ displayName: 'Desk' }, ['displayName', 'mayProvision[]', 'sees[]', 'audience']],
  sources: [{}, ['roles[]']],
  webhooks: [
    { partner, url: 'https://a.example/in' },
    ['partner', 'client', 'url', 'kinds[]', 'description'],
  ],
  providers: [
    { type: 'staff', label: 'Bank', issuer: 'https://bank.example', clientId: 'us' },
    [
      ...['label', 'issuer', 'clientId', 'proof', 'scopes[]', 'linkClaim', 'linkSource', 'strongAcr[]'],
      ...['strongAmr[]', 'logoutEnds'],
    ],
  ],
}

for (const [kind, [spec, fields]] of Object.entries(kinds))
  test(`${kind}: no text in a field is a fault of the gateway`, async () => {
    for (const text of strange)
      for (const field of fields) {
        const value = field.endsWith('[]') ? [text] : text
        const name = `s${makeUpWord().toLowerCase().slice(0, 20)}`
        const body = { spec: { ...spec, [field.replace('[]', '')]: value } }
        const answer = await program.call('PUT', `/admin/v1/${kind}/${name}?reason=x&dryRun=true`, body)
        assert.ok(answer.status < 500, `${field} ${JSON.stringify(text)}: ${answer.text}`)
      }
  })

test('role-maps: no text in a field is a fault of the gateway', async () => {
  const decider = await openConsole(house, 'Dora Decider')
  const name = `staff-${makeUpWord()}`
  const provider = `/admin/v1/providers/${name}`
  const spec = { type: 'staff', label: 'Bank', issuer: `https://${name}.example`, clientId: 'us' }
  outcomeOf(await program.call('PUT', provider, { spec }), 201)
  const path = `/admin/v1/role-maps/${name}?reason=x`
  const tryAll = async () => {
    for (const text of strange)
      for (const body of [{ rolesClaim: text }, { rolesClaim: 'groups', roles: { [text]: 'viewer' } }]) {
        const answer = await program.call('PUT', `${path}&dryRun=true`, { spec: body })
        assert.ok(answer.status < 500, `${JSON.stringify(body)}: ${answer.text}`)
      }
  }
  await tryAll()
  assert.equal((await program.call('POST', `${provider}/credential`, { credential: 'a\0b' })).status, 200)
  const made = outcomeOf(await program.call('PUT', `${provider}?reason=x`, { spec: { enabled: true } }), 202)
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  await tryAll()
})
