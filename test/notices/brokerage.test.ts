/**
 * What the brokerage alone is told: deliveries that are late, a provider that is away, what ends. Each is told
 * while it lasts and not after, and none says anything of account holders.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendDueAlerts } from '../../src/alerts/dispatch.ts'
import { openOwnTroubles } from '../../src/alerts/own-troubles.ts'
import { changeTarget, theBrokerage } from '../../src/alerts/target.ts'
import { recordAct } from '../../src/audit/audit.ts'
import { sealAll } from '../../src/audit/chain.ts'
import { after, day, hour, minute } from '../../src/clock.ts'
import { generateKey, openVault, type Vault } from '../../src/crypto/vault.ts'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { createCredential, revokeCredential } from '../../src/users/admin-credential.ts'
import { setEmail } from '../../src/users/email.ts'
import { staffAlertKinds } from '../../src/vocabulary/alert-kind.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { openSender } from '../../src/webhooks/outbound/attempt.ts'
import { queueAddress } from '../support/alerts.ts'
import { ask } from '../support/ask.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'
import { lookAtAll } from '../support/look-inside.ts'
import { noticesOf } from '../support/notices.ts'
import { openUpstream, registerUpstream } from '../support/upstream.ts'

// No worker runs: what is late stays so, and what is due goes out when the test says so.
const engine = await keepOpen(openEngine({ ROLES: 'api' }))
const { house, receiver, db } = engine
const { config, vault, log, addresses, brands } = { ...house.gateway.context, addresses: addressesOf() }
const now = () => house.clock.now()

function addressesOf() {
  return { live: house.baseUrl, sandbox: house.sandboxUrl }
}

const path = '/ops'
const { target } = await queueAddress(house, theBrokerage, true)
await changeTarget(db, theBrokerage, Number(target), { what: staffAlertKinds, waitMinutes: 0 }, house.act())
await ask(db, `UPDATE alert_targets SET url = $2 WHERE id = $1`, [target, receiver.url(path)])
await ask(db, `DELETE FROM alerts`)

const openTroubles = (given: { vault?: Vault; config?: Config } = {}) =>
  openOwnTroubles({ db, clock: house.clock, vault, config, ...given })

const troubles = openTroubles()

/** What arrives of what is so now, told by two nodes that look at once; each as its words. */
async function tell(nodes: readonly ReturnType<typeof openTroubles>[] = [troubles, openTroubles()]) {
  const before = receiver.at(path).length
  await Promise.all(nodes.map((node) => node.find()))
  const { dnsServers, certificateAuthority } = config.webhooks
  const sender = openSender({ policy: config.webhooks, dnsServers, certificateAuthority })
  await sendDueAlerts({
    ...{ db, clock: house.clock, log, vault, sender, addresses },
    nameOfBrokerage: async () => (await brands.find('live')).name,
    closing: new AbortController().signal,
  })
  await sender.close()
  const bodies = receiver.at(path).slice(before)
  for (const { body } of bodies) assert.doesNotMatch(body, /holder|transaction:|secret-of/)
  return bodies.flatMap(({ body }) =>
    (JSON.parse(body) as { alerts: { kind: string; text: string; link: string }[] }).alerts.map(
      ({ kind, text, link }) => `${kind}: ${text} ${link}`,
    ),
  )
}

test('deliveries that are late are told once an hour while they are, without what they are about', async () => {
  const webhook = await engine.makeWebhook('/late')
  await engine.publish({ entity: 'transaction:holder-7', body: '{"holder":"Ada"}' })
  await lookAtAll(db, partOf(engine.branchId), now())
  assert.deepEqual(await tell(), [], 'not yet')
  house.clock.advance(2 * minute)
  const [told, ...more] = await tell()
  assert.match(told!, /^lag: Deliveries are late: one webhook has deliveries due that are not being sent/)
  assert.deepEqual(more, [])
  assert.deepEqual(await tell(), [])
  house.clock.advance(hour)
  assert.equal((await tell()).length, 1, 'still late an hour after')
  await engine.sql('UPDATE cursors SET position = feed_head(part, feed) WHERE webhook_id = $1', [webhook.id])
  house.clock.advance(hour)
  assert.deepEqual(await tell(), [], 'it has cleared')
})

test('a provider that is away is told once each time, and not when it answers', async (t) => {
  const upstream = await openUpstream(house, { name: 'bank', people: { 'holder-9': {} } })
  t.after(() => upstream.close())
  await registerUpstream(house, upstream, 'bank')
  const again = async () => {
    house.clock.advance(5 * minute)
    return tell()
  }
  assert.deepEqual(await again(), [])
  await upstream.leave()
  const [told, ...more] = await again()
  assert.match(told!, /^provider: Example Bank ID is away: /)
  assert.deepEqual([more, await again()], [[], []])
  const since = 'SELECT away_since AS since FROM identity_providers'
  assert.ok((await ask<{ since: Date | null }>(db, since))[0]!.since, 'pages and figures say so too')
  await upstream.return()
  assert.deepEqual(await again(), [])
  assert.equal((await ask<{ since: Date | null }>(db, since))[0]!.since, null)
  await upstream.leave()
  assert.equal((await again()).length, 1, 'away once more, although nobody signed in between')
  await upstream.return()
})

test('a collector that does not hear the audit log for a quarter of an hour is told once where it stands still', async () => {
  const address = Buffer.alloc(32, 7)
  const auditPush = {
    ...readConfig({ AUDIT_PUSH_URL: 'https://siem.example/in?token=secret-of' }).auditPush!,
    address,
  }
  const pushing = openTroubles({ config: { ...config, auditPush } })
  const hear = async () => {
    await sealAll(db, now(), 'wait')
    await ask(
      db,
      `INSERT INTO audit_listeners (address, position, free_at) SELECT $1, max(position), $2 FROM audit_blocks
       ON CONFLICT (address) DO UPDATE SET position = excluded.position`,
      [address, now()],
    )
  }
  const look = async () => (await tell([pushing])).filter((text) => text.startsWith('audit:'))
  await hear()
  await recordAct(db, house.act(), 'client.updated', 'client:1')
  await sealAll(db, now(), 'wait')
  assert.deepEqual(await look(), [], 'not yet')
  house.clock.advance(16 * minute)
  const [told, ...more] = await look()
  assert.match(told!, /^audit: siem\.example has not heard the audit log since [^.]+\. Nothing is lost/)
  assert.deepEqual([more, await look()], [[], []])
  await hear()
  assert.deepEqual(await look(), [], 'it has heard all')
})

test('sealing keys that stay a day after a rotation are told once, and not when the older are pruned', async () => {
  const [old, fresh] = [generateKey(), generateKey()]
  const rotated = [openTroubles({ vault: openVault({ kind: 'environment', keys: [fresh, old] }) })]
  assert.deepEqual(await tell(rotated), [], 'as it should be for a day')
  house.clock.advance(day)
  assert.match((await tell(rotated)).join(), /^expiring: 2 sealing keys are in use a day after a rotation/)
  assert.deepEqual(await tell(rotated), [])
  const pruned = [openTroubles({ vault: openVault({ kind: 'environment', keys: [fresh] }) })]
  await tell(pruned)
  house.clock.advance(2 * day)
  assert.deepEqual(await tell(pruned), [])
})

test('a certificate that ends within three weeks is told once, and its successor is not', async () => {
  const of = (days: number) => {
    const certificate = makeCertificate(['api.broker.example'], after(now(), -day), after(now(), days * day))
    const tls = { ...certificate, key: certificate.key }
    return [openTroubles({ config: { ...config, tls } as Config })]
  }
  assert.deepEqual(await tell(of(30)), [])
  const ending = of(20)
  assert.match((await tell(ending)).join(), /^expiring: The certificate of TLS_CERT_FILE ends on 20\d\d-/)
  assert.deepEqual(await tell(ending), [])
  assert.deepEqual(await tell(of(90)), [])
})

test('an administration credential in use is told a week before it ends; one at rest or revoked is not', async () => {
  const operator = await house.makeOperator('pipelines')
  const make = async (name: string, isUsed: boolean) => {
    const draft = { userId: operator.id, name, environment: 'live', role: 'viewer', readers: [] } as const
    const { credential, secret } = await createCredential(db, { ...draft, days: 10 }, house.act())
    const used = 'UPDATE admin_credentials SET last_used_at = $2 WHERE id = $1'
    if (isUsed) await ask(db, used, [credential.id, now()])
    return { credential, secret }
  }
  const [used, revoked] = [await make('terraform', true), await make('former', true)]
  await make('at rest', false)
  await revokeCredential(db, revoked.credential.id, house.act())
  assert.deepEqual(await tell(), [])
  house.clock.advance(4 * day)
  const told = (await tell()).join()
  assert.match(
    told,
    /^expiring: The administration credential “terraform”, which is in use, ends on .*\/console\/credentials$/,
  )
  assert.ok(!told.includes(used.secret.text))
  assert.deepEqual(await tell(), [])
})

test('operators get what came up at once as one mail, each of what their role can do something about', async () => {
  const people = { all: await house.makeOperator('all'), auditor: await house.makeOperator('a', ['auditor']) }
  for (const [name, user] of Object.entries(people))
    await setEmail(db, user, `${name}@b.example`, house.act())
  const [mail] = await ask<{ id: number }>(
    db,
    `UPDATE alert_targets SET what = $1, wait_minutes = 0 WHERE branch_id IS NULL AND kind = 'mail' RETURNING id`,
    [[...staffAlertKinds]],
  )
  assert.ok(mail)
  await engine.makeWebhook('/late-too')
  await engine.publish({ entity: 'transaction:holder-8' })
  await lookAtAll(db, partOf(engine.branchId), now())
  house.clock.advance(hour)
  const certificate = makeCertificate(['api.broker.example'], after(now(), -day), after(now(), day))
  await tell([openTroubles({ config: { ...config, tls: certificate } as Config })])
  const about = (await noticesOf(db, people.all)).filter(({ kind }) => kind === 'alerts')
  assert.equal(about.length, 1)
  const { reader, alerts } = about[0]!.facts as { reader: string; alerts: { kind: string }[] }
  assert.deepEqual([reader, alerts.map(({ kind }) => kind).sort()], ['staff', ['expiring', 'lag']])
  assert.deepEqual(await noticesOf(db, people.auditor), [])
})
