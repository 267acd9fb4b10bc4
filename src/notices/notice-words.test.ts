import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import { drawPng, secondWords } from '../../test/support/brand.ts'
import { parseMail } from '../../test/support/mail-server.ts'
import { anyText } from '../../test/support/text.ts'
import { brandOf } from '../brands/brand-row.ts'
import { generateKey, openVault } from '../crypto/vault.ts'
import type { NoticeFacts } from './facts.ts'
import { issueLink } from './invitation-link.ts'
import { composeMessage } from './message.ts'
import { noticeWords } from './notice-words.ts'
import type { NoticeToSend } from './post.ts'

const addresses = { live: 'https://api.broker.example', sandbox: 'https://sandbox.broker.example' }
const at = new Date('2026-03-02T10:00:00Z')
const vault = openVault({ kind: 'environment', keys: [generateKey()] })
const { seed, token } = issueLink(vault)
const reset = issueLink(vault, 'reset')

const second = brandOf({
  ...{
    ...secondWords,
    id: 1,
    environment: 'live',
    state: 'active',
    version: 1,
    changedAt: at,
    activatedAt: at,
  },
  ...{ logoLight: null, logoDark: null, favicon: null },
})

/** Every kind, with this text in every field that comes from outside. */
function everyKind(text: string): NoticeToSend[] {
  const environment = 'live' as const
  const webhook = {
    environment,
    partner: text,
    branchId: 7,
    webhookId: 12,
    url: `https://hooks.example.com/s3cret?x=${text}`,
  }
  const guard = { byHolder: true, from: text, userAgent: text, former: true, more: true }
  const facts: NoticeFacts = {
    'sign-in': { environment, address: text, userAgent: text },
    application: { environment, client: text, partner: text, scopes: ['read', text], address: text },
    'access-ended': {
      environment,
      client: text,
      partner: text,
      accounts: [text],
      ended: false,
      reason: text,
    },
    address: { ...guard, changed: 'replaced' },
    password: guard,
    'second-factor': { ...guard, change: 'added', factor: text },
    'recovery-codes': guard,
    'api-token': { ...guard, environment, name: text },
    'webhook-failing': { ...webhook, since: at.toISOString() },
    'webhook-recovered': { ...webhook, since: at.toISOString() },
    operations: { kind: 'disabled', facts: { ...webhook, reason: text } },
    'webhook-disabled': { ...webhook, reason: text },
    'secret-expiring': {
      ...{ environment, partner: text, branchId: 7, client: text },
      ...{ madeAt: at.toISOString(), endsAt: at.toISOString(), lastUsedAt: null },
    },
    alerts: {
      ...{ reader: 'partner', environment, more: 3 },
      alerts: [
        { kind: 'disabled', facts: { ...webhook, reason: text } },
        { kind: 'expiring', facts: { ...webhook, endsAt: at.toISOString() } },
      ],
    },
    'partner-decided': { partner: text, branchId: 7, status: 'declined', reason: text },
    'partner-message': { partner: text, branchId: 7, readBy: 'partner' },
    'client-profile': {
      ...{ partner: text, branchId: 7, environment, clientId: 'Zq3J5mXw8LrT2bNc7VfHk4Ps', client: text },
      ...{ from: at.toISOString(), endsBearers: true, hasSecret: true },
    },
    invitation: {
      ...{ partner: text, branchId: 7, role: 'owner', invitedBy: text, expiresAt: at.toISOString() },
      ...{ seed, tokenHash: token.hash.toString('hex') },
    },
    'password-reset': {
      seed: reset.seed,
      tokenHash: reset.token.hash.toString('hex'),
      expiresAt: '2026-03-02T11:00:00.000Z',
    },
    'staff-password': { name: text, environment: 'live', from: text, userAgent: text },
    'member-joined': { partner: text, branchId: 7, name: text, role: 'developer' },
    proposal: { kind: 'partner.approve', proposalId: 3, expiresAt: at.toISOString() },
    'break-glass': { kind: 'keys.rotate', by: text, subject: text },
    power: {
      ...{
        action: 'provider.added',
        actor: 'user:id-a',
        subject: `provider:${text}`,
        names: { 'user:id-a': text },
      },
      details: {
        kind: 'staff',
        issuer: text,
        rolesClaim: text,
        roleMap: { [text]: 'administrator' },
        reason: text,
      },
    },
  }
  const common = { id: 1, email: 'ada@example.com', name: text, key: 'k', attempts: 1, createdAt: at }
  return Object.entries(facts).map(([kind, each]) => ({ ...common, kind, facts: each }) as NoticeToSend)
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })

async function compose(notice: NoticeToSend): Promise<string> {
  const words = noticeWords(notice, addresses, vault)
  const from = { name: 'Countersign', address: 'notices@broker.example' }
  const message = { id: 1, key: 'k', to: 'ada@example.com', at, ...words }
  return String((await composer.sendMail(composeMessage(from, message))).message)
}

const headersOf = (raw: string) =>
  raw
    .split('\n\n')[0]!
    .replaceAll(/\n[ \t]+/g, ' ')
    .split('\n')
const namesOf = (raw: string) => headersOf(raw).map((line) => line.split(':')[0])

test('whatever names and addresses hold, a message has the headers it should have and one recipient', async () => {
  const expected = namesOf(await compose(everyKind('Pal')[0]!))
  const attack = 'Pal\r\nBcc: all@example.com\r\n\r\n<h1>Hello</h1>'
  const ends = fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    '\u2028',
    '\u0085',
    '\0',
    '=?utf-8?q?=0D=0ABcc:_x@example.com?=',
    '<',
    '"',
    ',',
  )
  const texts = fc.oneof(
    fc.constant(attack),
    anyText({ minLength: 1 }),
    fc.array(fc.oneof(ends, fc.string()), { minLength: 1 }).map((parts) => parts.join('')),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      for (const notice of everyKind(text)) {
        const raw = await compose(notice)
        assert.deepEqual(namesOf(raw), expected)
        assert.equal(
          headersOf(raw).find((line) => line.startsWith('To:')),
          'To: ada@example.com',
        )
      }
    }),
    { numRuns: 25 },
  )
})

test('a name cannot add lines of its own to what is said', () => {
  for (const notice of everyKind('Pal\r\n\r\nYour account is locked.\u2028Call 555')) {
    const { text } = noticeWords(notice, addresses, vault)
    assert.doesNotMatch(text, /^\s*(Your account is locked|Call 555)/m)
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Zp}]/u)
  }
})

test('a message is text, and the same words as HTML, in which nobody else’s word is markup or can be followed', async () => {
  for (const notice of everyKind('<img src=x onerror=alert(1)> https://evil.example/x "quoted" & more')) {
    const raw = await compose(notice)
    assert.match(raw, /^Content-Type: multipart\/alternative;/m)
    const { text, html } = parseMail(raw)
    assert.equal(text, noticeWords(notice, addresses, vault).text)
    const page = html!
    assert.doesNotMatch(page, /<img|<script|<[a-z]+[^>]*\son[a-z]+=|@import|url\(/i)
    const followed = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1]!)
    for (const address of followed) assert.match(address, /^https:\/\/(api|sandbox)\.broker\.example(\/|$)/)
    const words = (content: string) => content.replaceAll(/\s+/g, ' ').trim()
    const seen = words(
      page
        .replace(/[\s\S]*<body/, '<body')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&'),
    )
    const facts = text.split('\n').filter((line) => line.startsWith('  '))
    for (const line of facts) assert.ok(seen.includes(words(line.slice(line.indexOf(':') + 1))), line)
  }
})

test('the HTML names the brand, wears its colours, and brings the logo along', async () => {
  const words = noticeWords(everyKind('Pal')[0]!, addresses, vault, { live: second, sandbox: second })
  const logo = { type: 'image/png' as const, bytes: drawPng(64, 16) }
  const from = { name: 'Countersign', address: 'no-reply@localhost' }
  const message = { id: 1, key: 'k', to: 'ada@example.com', at, ...words, logo }
  const raw = String((await composer.sendMail(composeMessage(from, message))).message)
  assert.match(raw, /^From: Northwind Notices <notices@northwind\.example>$/m)
  assert.match(raw, /^Reply-To: help@northwind\.example$/m)
  assert.doesNotMatch(raw, /Countersign/i)
  const { text, html, types, images } = parseMail(raw)
  assert.deepEqual(types, [
    'multipart/alternative',
    'text/plain',
    'multipart/related',
    'text/html',
    'image/png',
  ])
  const [, id] = /<img src="cid:([^"]+)" alt="Northwind"/.exec(html!)!
  assert.deepEqual(images.get(id!), logo.bytes)
  assert.match(html!, /#7a1f5c/)
  assert.match(html!, /prefers-color-scheme: dark\) \{ \.paper \{ background-color: #170f14 !important; \}/)
  for (const part of [text, html!])
    for (const words of ['Northwind Securities Ltd', 'security@northwind.example', '+1 555 010 0199'])
      assert.ok(part.includes(words), words)
})

test('no message of any kind names anybody but the brand', async () => {
  const from = { name: 'Countersign', address: 'no-reply@localhost' }
  for (const notice of everyKind('Pal')) {
    const words = noticeWords(notice, addresses, vault, { live: second, sandbox: second })
    const message = { id: 1, key: 'k', to: 'ada@example.com', at, ...words }
    const raw = String((await composer.sendMail(composeMessage(from, message))).message)
    const { text, html } = parseMail(raw)
    assert.doesNotMatch(`${raw} ${text} ${html}`, /countersign/i, notice.kind)
    for (const part of [text, html!]) assert.match(part, /Northwind/, notice.kind)
  }
})

test('without a sender of its own a brand is named at the usual address', async () => {
  const plain = { ...second, mail: { sender: undefined, replyTo: undefined, footer: undefined } }
  const words = noticeWords(everyKind('Pal')[0]!, addresses, vault, { live: plain, sandbox: plain })
  const message = { id: 1, key: 'k', to: 'ada@example.com', at, ...words }
  const { from } = composeMessage({ name: 'Countersign', address: 'no-reply@localhost' }, message)
  assert.deepEqual(from, { name: 'Northwind', address: 'no-reply@localhost' })
})

test('a long name is cut', () => {
  for (const notice of everyKind('x'.repeat(5_000))) {
    const { subject, text } = noticeWords(notice, addresses, vault)
    assert.ok([...subject].length <= 200)
    assert.ok(text.length < 2_000, String(text.length))
  }
})

test('no message has the path or the query of a webhook, where partners keep secrets, nor a link with a query', () => {
  for (const notice of everyKind('hunter2')) {
    const { text } = noticeWords(notice, addresses, vault)
    assert.doesNotMatch(text, /s3cret|\?x=/)
    assert.doesNotMatch(text, /https?:\/\/\S*[?#]/)
  }
})

test('each says what happened, when, and what to do; in the sandbox it says so', () => {
  const [signIn] = everyKind('192.0.2.7')
  const { subject, text } = noticeWords(signIn!, addresses, vault)
  assert.equal(subject, 'New sign-in to your account')
  assert.match(text, /^Hello 192\.0\.2\.7,\n\nSomebody signed in/)
  assert.match(
    text,
    /\n {2}When: {4}2 March 2026, 10:00 UTC\n {2}From: {4}192\.0\.2\.7\n {2}Device: {2}An unknown browser\n/,
  )
  assert.match(text, /If it was not: sign in at https:\/\/api\.broker\.example and/)
  const facts = { ...signIn!.facts, environment: 'sandbox' }
  const sandbox = noticeWords({ ...signIn!, facts } as NoticeToSend, addresses, vault)
  assert.equal(sandbox.subject, 'New sign-in to your account (sandbox)')
  assert.match(
    sandbox.text,
    /sign in at https:\/\/api\.broker\.example and/,
    'devices are signed out on the live site',
  )
  for (const notice of everyKind('Pal')) assert.match(noticeWords(notice, addresses, vault).text, /UTC/)
})

test('an invitation has a link that no fact of it holds, also after the keys were rotated, and none once the key is gone', () => {
  const old = generateKey()
  const made = issueLink(openVault({ kind: 'environment', keys: [old] }))
  const invitation = everyKind('Pal').find(({ kind }) => kind === 'invitation')!
  const facts = { ...invitation.facts, seed: made.seed, tokenHash: made.token.hash.toString('hex') }
  const notice = { ...invitation, name: null, facts } as NoticeToSend
  const print = (...keys: (typeof old)[]) =>
    noticeWords(notice, addresses, openVault({ kind: 'environment', keys })).text
  assert.match(print(old), /^Hello,\n\nPal invites you to the partner portal/)
  assert.ok(print(old).includes(`https://api.broker.example/partner/invitation/${made.token.text}\n`))
  assert.equal(print(generateKey(), old), print(old))
  assert.doesNotMatch(JSON.stringify(notice), new RegExp(made.token.text))
  assert.throws(() => print(generateKey()), /key .* is gone/)
})
