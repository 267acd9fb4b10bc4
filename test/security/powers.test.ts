/**
 * The table of powers, walked: what is done by forms, commands, endpoints and proposals stands in it with
 * what it takes, or here with the reason why not.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import type { AuditAction } from '../../src/audit/action.ts'
import { insertEntry } from '../../src/audit/audit.ts'
import { listedPowers, type PowerfulAction } from '../../src/audit/powers.ts'
import { commands } from '../../src/cli/commands.ts'
import { setEmail } from '../../src/users/email.ts'
import { proposalKinds } from '../../src/vocabulary/proposal-kind.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { ask } from '../support/ask.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { tokenOf } from '../support/web.ts'
import { forms } from '../web/console/rows.ts'

const house = await openHouse()
const { db } = house.gateway.context
const boss = await openConsole(house, 'Ada Administrator')
const staff = await house.makeOperator('Stan Staff', ['support'])
const holder = await house.makeUser()
await setEmail(db, boss.user, 'ada@broker.example', house.act())

const takesAway = 'it takes power away'
const sendsAgain = 'it sends what was or would be sent, to where that goes'
const looks = 'it only looks'
const asks = 'it asks somebody else'
const wrongThings = 'what is wrong with webhooks, to where its owner says'
const ownEvents = 'a partner’s own events, to where it says'

/** Entries that leave nobody with more than before. */
const powerlessActions: Readonly<Record<Exclude<AuditAction, PowerfulAction>, string>> = {
  'user.renamed': 'a name',
  'user.named': 'a name',
  'user.disabled': takesAway,
  'user.disabled_by_source': takesAway,
  'source.role_withdrawn': takesAway,
  'user.notices_chosen': 'what guards the account cannot be declined',
  'user.holding_removed': takesAway,
  'user.removed': takesAway,
  'alert.address_added': wrongThings,
  'alert.address_confirmed': wrongThings,
  'alert.address_removed': takesAway,
  'alert.code_sent': wrongThings,
  'alert.tested': wrongThings,
  'alert.changed': wrongThings,
  'session.opened': 'by whoever proved that it is them',
  'session.confirmed': 'by whoever proved that it is them',
  'session.refused': takesAway,
  'session.throttled': takesAway,
  'session.closed': takesAway,
  'session.others_closed': takesAway,
  'session.all_closed': takesAway,
  'session.ended_by_provider': takesAway,
  'session.wait_lifted': 'whoever tries again still has to know the password',
  'second_factor.locked': takesAway,
  'api_token.revoked': takesAway,
  'partner.applied': asks,
  'partner.renamed': 'a name',
  'partner.declined': takesAway,
  'partner.suspended': takesAway,
  'partner.message_sent': 'a message',
  'partner.refresh_asked': asks,
  'partner.refresh_withdrawn': takesAway,
  'partner.invitation_resent': 'it was made before',
  'partner.invitation_declined': takesAway,
  'partner.invitation_withdrawn': takesAway,
  'partner.member_removed': takesAway,
  'client.suspended': takesAway,
  'client.secret_revoked': takesAway,
  'client.key_removed': takesAway,
  'client.scopes_asked': asks,
  'client.scopes_declined': takesAway,
  'client.profile_asked': asks,
  'client.profile_declined': takesAway,
  'client.look_given': asks,
  'client.look_declined': takesAway,
  'client.look_withdrawn': takesAway,
  'brand.drafted': 'nobody sees a draft',
  'brand.draft_discarded': takesAway,
  'service.revoked': takesAway,
  'credential.revoked': takesAway,
  'object.labelled': 'a name',
  'identity.unlinked': takesAway,
  'identity.unknown': 'nobody came in',
  'identity.refused': 'nobody came in',
  'authorization.denied': takesAway,
  'authorization.revoked': takesAway,
  'authorization.narrowed': takesAway,
  'authorization.paused': takesAway,
  'authorization.resumed': 'it gives back what the holder had approved',
  'client.token_issued': 'what the client may do already',
  'code.exchanged': 'within what was approved',
  'code.replayed': takesAway,
  'code.presented_by_other_client': 'it was refused',
  'token.refreshed': 'within what was approved',
  'token.rotated': 'within what was approved',
  'token.reuse_detected': takesAway,
  'token.revoked': takesAway,
  'webhook.created': ownEvents,
  'webhook.updated': ownEvents,
  'webhook.deleted': takesAway,
  'webhook.paused': takesAway,
  'webhook.resumed': sendsAgain,
  'webhook.disabled': takesAway,
  'webhook.expired': takesAway,
  'webhook.secret_rotated': ownEvents,
  'webhook.redelivered': sendsAgain,
  'webhook.replayed': sendsAgain,
  'webhook.replay_canceled': takesAway,
  'webhook.recovered': sendsAgain,
  'webhook.probed': sendsAgain,
  'webhook.delivery_skipped': takesAway,
  'webhook.skipped': takesAway,
  'import.finished': 'it was started before',
  'import.stopped': takesAway,
  'proposal.made': asks,
  'proposal.declined': takesAway,
  'proposal.withdrawn': takesAway,
  'proposal.outdated': takesAway,
  'proposal.bypassed': 'what was done past two people has an entry of its own',
  'audit.verified': looks,
  'audit.exported': looks,
  'list.exported': looks,
}

/** Forms that give nobody power, by the reason. */
const powerlessForms: Readonly<Record<string, readonly string[]>> = {
  'it is the proof, or ends what was begun': [
    '/login',
    '/login/second',
    '/login/second/recovery',
    '/login/second/passkey',
    '/login/passkey',
    '/login/cancel',
    '/consent/other',
  ],
  [takesAway]: [
    ...['/logout', '/logout/from/:provider', '/account/revoke', '/account/pause', '/account/api/revoke'],
    ...['/account/devices/close', '/account/devices/close/others'],
    ...['/partner/invitation/:token/decline', '/partner/:branch/clients/:client/revoke'],
    '/partner/:branch/clients/:client/remove-key',
    ...[
      '/partner/:branch/members/uninvite',
      '/partner/:branch/members/remove',
      '/partner/:branch/members/leave',
    ],
    ...['/partner/:branch/webhooks/:id/pause', '/partner/:branch/webhooks/:id/delete'],
    ...['/partner/:branch/webhooks/:id/replays/:replay/cancel', '/partner/:branch/webhooks/:id/skip/start'],
    ...[
      '/partner/:branch/deliveries/:id/skip',
      '/console/webhooks/:id/pause',
      '/console/partners/:branch/decline',
    ],
    ...['/console/partners/:branch/suspend', '/console/partners/:branch/refresh/withdraw'],
    ...['/console/partners/:branch/clients/:client/suspend', '/console/imports/:id/stop'],
    ...['scopes', 'profile'].map((what) => `/console/partners/:branch/clients/:client/${what}/decline`),
    ...['/console/partners/:branch/clients/:client/look/decline'],
    ...['/console/partners/:branch/clients/:client/look/withdraw', '/console/users/:id/lock'],
    ...['/console/users/:id/sessions/close', '/console/users/:id/sessions/close/all'],
    ...['/console/users/:id/tokens/revoke', '/console/users/:id/applications/revoke'],
    ...['/console/proposals/:id/decline', '/console/proposals/:id/withdraw'],
    ...['/partner/:branch/alerts/remove', '/console/alerts/remove', '/console/credentials/revoke'],
  ],
  [asks]: [
    ...['/partner/apply', '/partner/:branch/apply', '/partner/:branch/messages/send'],
    ...['/partner/:branch/clients/refresh', '/partner/:branch/clients/:client/scopes'],
    ...['/partner/:branch/clients/:client/look/save', '/partner/:branch/clients/:client/profile'],
  ],
  [ownEvents]: [
    ...['/partner/:branch/webhooks/create', '/partner/:branch/webhooks/:id/update'],
    ...[
      '/partner/:branch/webhooks/:id/secret',
      '/partner/:branch/test/send',
      '/partner/:branch/receiver/try',
    ],
  ],
  [sendsAgain]: [
    ...['/partner/:branch/webhooks/:id/resume', '/partner/:branch/webhooks/:id/replay/start'],
    ...['/partner/:branch/webhooks/:id/recover/start', '/partner/:branch/webhooks/:id/incident/probe'],
    ...['/partner/:branch/deliveries/:id/redeliver', '/partner/:branch/deliveries/again'],
    '/console/webhooks/:id/resume',
    ...['/console/webhooks/:id/incident/probe', '/console/webhooks/:id/recover/start'],
  ],
  [wrongThings]: ['/partner/:branch/alerts', '/console/alerts'].flatMap((page) =>
    ['add', 'confirm', 'code', 'change', 'test'].map((act) => `${page}/${act}`),
  ),
  [looks]: [
    '/partner/:branch/signature/check',
    '/partner/:branch/proofs/check',
    '/console/audit/chain/verify',
  ],
  'nobody else sees a saved view': ['/account/views/save', '/account/views/remove'],
  'it gives back what the holder had approved': ['/account/resume'],
  'what guards the account cannot be declined': ['/account/security/notices'],
  'nobody sees a draft': [
    ...['/console/brand/:site/save', '/console/brand/:site/image', '/console/brand/:site/image/remove'],
    '/console/brand/:site/discard',
  ],
  'a message': ['/console/partners/:branch/message'],
  'whoever tries again still has to know the password': ['/console/users/:id/throttle/lift'],
}

const powerlessCommands: Readonly<Record<string, readonly string[]>> = {
  [looks]: [
    ...[
      'listen',
      'completion',
      'doctor',
      'settings',
      'user list',
      'user show',
      'provider list',
      'provider test',
      'staff list',
    ],
    ...[
      'partner list',
      'partner show',
      'partner messages',
      'partner members',
      'partner invitations',
      'client list',
    ],
    ...[
      'client show',
      'client secrets',
      'client keys',
      'token list',
      'authorization list',
      'service list',
      'webhook list',
    ],
    ...['credential list', 'alert list', 'calls', 'export', 'diff', 'upgrade check'],
    ...[
      'webhook show',
      'delivery list',
      'delivery show',
      'import list',
      'import show',
      'keys list',
      'audit list',
    ],
    ...['audit verify', 'audit key', 'audit listener', 'keys generate', 'source list'],
  ],
  [takesAway]: [
    ...['user disable', 'user release', 'provider unlink', 'partner decline', 'partner suspend'],
    ...['partner withdraw-refresh', 'partner remove-member', 'partner uninvite', 'client decline-scopes'],
    ...[
      'client suspend',
      'client revoke-secret',
      'client remove-key',
      'token revoke',
      'token revoke-leaked',
      'authorization revoke',
    ],
    ...[
      'service revoke',
      'credential revoke',
      'alert remove',
      'webhook delete',
      'webhook pause',
      'webhook skip-waiting',
      'delivery skip',
      'import stop',
    ],
  ],
  [asks]: ['partner create'],
  [wrongThings]: ['alert add', 'alert change', 'alert confirm', 'alert send-code', 'alert test'],
  'it does what its credential may': ['apply'],
  [ownEvents]: ['webhook create', 'webhook update', 'webhook rotate-secret', 'event publish'],
  [sendsAgain]: ['webhook resume', 'webhook replay', 'webhook recover', 'delivery redeliver'],
  'a message': ['partner write'],
  'the schema': ['migrate'],
}

const powerlessEndpoints: Readonly<Record<string, readonly string[]>> = {
  'within what was approved': ['POST /v1/oauth/accesstoken', 'POST /v1/oauth/refreshtoken'],
  [looks]: [
    ...['POST /v1/oauth/introspect', 'POST /v1/oauth/par', 'POST /v2/webhooks/:id/recover/dry-run'],
    'POST /v2/webhooks/:id/replays/dry-run',
  ],
  [takesAway]: [
    ...['POST /v1/oauth/revoke', 'DELETE /v2/webhooks/:id', 'POST /v2/webhooks/:id/pause'],
    ...[
      'DELETE /v2/webhooks/:id/replays/:replayId',
      'POST /v2/webhooks/:id/skips',
      'POST /v2/deliveries/:id/skip',
    ],
    ...['DELETE /internal/v1/customers/:externalId', 'DELETE /internal/v1/accounts/:externalId'],
    'DELETE /internal/v1/holdings/:customer/:account',
    ...['partners', 'clients', 'services', 'sources', 'webhooks', 'role-maps'].map(
      (kind) => `DELETE /admin/v1/${kind}/:name`,
    ),
    'DELETE /admin/v1/clients/:name/secrets/:id',
    ...['POST /admin/v1/users/:id/lock', 'DELETE /admin/v1/users/:id/sessions'],
    ...['DELETE /admin/v1/users/:id/sessions/:session', 'POST /admin/v1/authorizations/:id/pause'],
    ...['DELETE /admin/v1/authorizations/:id', 'DELETE /admin/v1/proposals/:id'],
    'POST /admin/v1/imports/:id/stop',
  ],
  [ownEvents]: [
    ...['POST /v2/webhooks/transaction', 'POST /v2/webhooks/application', 'POST /v2/webhooks/achprofile'],
    ...[
      'POST /v2/webhooks',
      'PUT /v2/webhooks/:id',
      'PATCH /v2/webhooks/:id',
      'POST /v2/webhooks/:id/secret',
    ],
    ...['POST /internal/v1/events', 'PUT /admin/v1/webhooks/:name', 'POST /admin/v1/webhooks/:name/secrets'],
  ],
  [sendsAgain]: [
    ...['POST /v2/webhooks/:id/resume', 'POST /v2/webhooks/:id/recover', 'POST /v2/webhooks/:id/replays'],
    'POST /v2/deliveries/:id/redeliver',
  ],
  'what gives power is proposed': [
    ...['partners', 'clients', 'services', 'sources', 'providers', 'role-maps'].map(
      (kind) => `PUT /admin/v1/${kind}/:name`,
    ),
    'POST /admin/v1/imports/:id/removal',
  ],
  'it goes on with what was started': ['PATCH /internal/v1/imports/:id'],
}

const rows = listedPowers.map(([, power]) => power)
const sorted = (...lists: readonly (readonly string[])[]) => [...new Set(lists.flat())].sort()

function assertTold(
  what: string,
  there: readonly string[],
  named: readonly string[],
  powerless: object,
): void {
  const reasons = Object.values(powerless).flat() as string[]
  assert.deepEqual(
    sorted(named, reasons),
    sorted(there),
    `every ${what} stands in the table of powers, or has a reason`,
  )
  assert.deepEqual(
    named.filter((each) => reasons.includes(each)),
    [],
    `no ${what} is both`,
  )
}

const postPaths = pageRoutes.filter(({ method }) => method === 'POST').map(({ path }) => path)

test('every form, command and endpoint that changes something is in the table of powers, or gives nobody power', () => {
  const ofForms = rows.flatMap((power) => [...(power.console ?? []), ...(power.own ?? [])])
  assertTold('form', postPaths, ofForms, powerlessForms)
  const ofCommands = rows.flatMap((power) => power.commands ?? [])
  assertTold(
    'command',
    commands.map(({ name }) => name),
    ofCommands,
    powerlessCommands,
  )
  const changing = apiRoutes
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`)
  assertTold(
    'endpoint',
    changing,
    rows.flatMap((power) => power.endpoints ?? []),
    powerlessEndpoints,
  )
})

/** What proves itself otherwise than by a fresh sign-in. */
const otherProof: Readonly<Record<string, string>> = {
  '/login/reset/:token': 'the link is the proof',
  '/login/forgotten': 'it goes to the owner’s address',
  '/consent': 'it depends on the scopes',
  '/partner/invitation/:token/accept': 'an owner invited',
  '/partner/invitation/:token/join': 'an owner invited',
}

test('the gate of each form asks what its row says, and no row asks for less than a fresh sign-in', () => {
  for (const [action, power] of listedPowers) {
    for (const path of power.console ?? []) {
      const { gate } = pageRoutes.find((each) => each.method === 'POST' && each.path === path)!
      assert.equal(gate.permission, power.permission, `${action} by ${path}`)
      for (const proof of ['password', 'factor'] as const)
        assert.ok(gate.proofs.includes(proof), `${path}: ${proof}`)
    }
    for (const path of power.own ?? []) {
      const { gate } = pageRoutes.find((each) => each.method === 'POST' && each.path === path)!
      assert.equal(gate.proofs.length === 0, path in otherProof, path)
    }
    assert.equal(
      (power.console ?? []).length > 0 || 'fourEyes' in power,
      power.permission !== undefined,
      action,
    )
  }
})

test('every kind that may take two people is in the table, with one permission', () => {
  assert.deepEqual(
    sorted(rows.flatMap(({ fourEyes }) => (fourEyes ? [fourEyes] : []))),
    sorted(proposalKinds),
  )
  for (const kind of proposalKinds) {
    const permissions = rows.filter(({ fourEyes }) => fourEyes === kind).map(({ permission }) => permission)
    assert.equal(new Set(permissions).size, 1, kind)
  }
})

const toldOf = `SELECT facts ->> 'action' AS action, facts ->> 'subject' AS subject FROM notices
    WHERE kind = 'power' AND user_id = $1`

test('administrators are told of each act by its entry as its row says, whoever wrote it, and of no other', async () => {
  const everyAction = [
    ...listedPowers.map(([action]) => action),
    ...Object.keys(powerlessActions),
  ] as AuditAction[]
  await ask(db, 'DELETE FROM notices')
  for (const action of everyAction)
    for (const subject of [`user:${staff.id}`, `user:${holder.id}`])
      await insertEntry(db, house.act(), action, subject, {})
  const told = await ask<{ action: string; subject: string }>(db, toldOf, [boss.user.id])
  const expected = listedPowers.flatMap(([action, { tells }]) => [
    ...(tells.some((each) => each.startsWith('administrators')) ? [`${action} user:${staff.id}`] : []),
    ...(tells.includes('administrators') ? [`${action} user:${holder.id}`] : []),
  ])
  assert.deepEqual(told.map(({ action, subject }) => `${action} ${subject}`).sort(), expected.sort())
})

test('administrators who are locked, others of the staff, and strangers who ask for a reset cause or get no such message', async () => {
  await ask(db, 'DELETE FROM notices')
  const anonymous = { by: { name: 'anonymous' }, at: house.clock.now() }
  await insertEntry(db, anonymous, 'user.reset_sent', `user:${staff.id}`, {})
  await setEmail(db, staff, 'stan@broker.example', house.act())
  await insertEntry(db, house.act(), 'keys.rotated', 'key:1', {})
  const people = await ask(
    db,
    `SELECT user_id, facts ->> 'action' AS action FROM notices WHERE kind = 'power' ORDER BY id`,
  )
  assert.deepEqual(people, [
    { user_id: boss.user.id, action: 'user.email_changed' },
    { user_id: boss.user.id, action: 'keys.rotated' },
  ])
})

test('whoever helps people does nothing of the table to staff, and who gives out roles nothing to an administrator', async () => {
  const paths = listedPowers.flatMap(([, power]) =>
    power.bound === 'over whom' ? (power.console ?? []) : [],
  )
  const support = await openConsole(house, 'Sue Support', ['support'])
  const both = await openConsole(house, 'Sam Both', ['support', 'security-officer'])
  for (const path of new Set(paths.filter((each) => each.includes('/:id/')))) {
    const { fields = {} } = await forms[path]!(house, boss.user)
    for (const [{ browser }, target] of [
      [support, staff],
      [both, boss.user],
    ] as const) {
      const sent = { ...fields, reason: 'Asked for.', csrf: await tokenOf(browser) }
      const answer = await browser.post(path.replace(':id', target.id), sent)
      assert.equal(answer.status, 403, `${path} to ${target.name}: ${answer.text}`)
      assert.match(answer.text, /This person is (staff|an administrator)\./)
    }
  }
})
