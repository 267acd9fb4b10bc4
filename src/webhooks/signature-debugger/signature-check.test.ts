/** Each of the usual mistakes, made as a program would make it, and found out. */
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { printSignatures } from '../outbound/signature.ts'
import { checkSignature, type NamedSecret, type SignatureAnswer } from './signature-check.ts'
import { readHeaders } from './signature-headers.ts'

const current: NamedSecret = {
  name: 'client',
  isOverruled: false,
  state: 'current',
  text: 'cs_live_current0123456789abcdef',
}
const previous: NamedSecret = {
  name: 'client',
  isOverruled: false,
  state: 'previous',
  text: 'cs_live_previous0123456789',
}
const next: NamedSecret = {
  name: 'client',
  isOverruled: false,
  state: 'next',
  text: 'cs_live_next0123456789',
}
const ended: NamedSecret = {
  name: 'client',
  isOverruled: false,
  state: 'ended',
  text: 'cs_live_ended0123456789',
}
const own: NamedSecret = {
  name: 'webhook 7',
  isOverruled: false,
  state: 'current',
  text: 'whsec_c2VjcmV0IGJ5dGVzIG9mIGEgd2ViaG9vaw==',
}
const secrets = [current, previous, next, ended, own]

const body =
  '{"type":"TRANSACTION","url":"https://a.example/é","amount":500.10,"account":{"id":7,"class":"x"}}'
const sentAt = new Date('2026-03-02T10:00:00Z')
const id = 'evt_0123456789abcdef0123456789abcdef'

const sign = (secret: string | Buffer, text: string | Buffer) => createHmac('sha256', secret).update(text)
const hex = (secret: NamedSecret, text: string | Buffer) => sign(secret.text, text).digest('hex')
const standard = `${id}.${sentAt.getTime() / 1000}.`

function headersOf(secret = current, text = body): string {
  const signatures = printSignatures({ id, body: text, sentAt }, { current: secret.text, all: [secret.text] })
  return Object.entries(signatures)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

interface CheckInput {
  readonly headers?: string
  readonly body?: string | Buffer
  readonly computed?: string
  readonly sent?: string
}

function ask({ headers = '', body: pasted = body, computed, sent }: CheckInput): SignatureAnswer {
  const bytes = typeof pasted === 'string' ? Buffer.from(pasted) : pasted
  return checkSignature({ headers: readHeaders(headers), body: bytes, computed, secrets, sent })
}

/** What is said of one signature: the secret that made it, and what is wrong. */
function said(answer: SignatureAnswer, source: string) {
  const { secret, mistakes, isRight } = answer.findings.find((finding) => finding.source === source)!
  assert.equal(isRight, mistakes.length === 0)
  return [secret && `${secret.name} ${secret.state}`, ...mistakes.map(({ name }) => name)]
}

test('a request as it came is right by both headers, and names the secret that signed it', () => {
  for (const secret of [current, own]) {
    const answer = ask({ headers: headersOf(secret), sent: body })
    assert.deepEqual(said(answer, 'x-webhook-signature'), [`${secret.name} current`])
    assert.deepEqual(said(answer, 'webhook-signature'), [`${secret.name} current`])
    assert.deepEqual([answer.difference, answer.isAsSent], [undefined, true])
  }
})

test('headers may be pasted as lines, as JSON, as options of curl, or as a signature alone', () => {
  const signature = hex(current, body)
  for (const pasted of [
    `X-Webhook-Signature: ${signature}\r\nContent-Type: application/json\r\n`,
    JSON.stringify({ 'content-type': 'application/json', 'x-webhook-signature': signature, accept: '*/*' }),
    `-H 'x-webhook-signature: ${signature}' -H 'user-agent: x'`,
    `x-webhook-signature=${signature}`,
    signature,
    `  ${signature}\n`,
  ])
    assert.deepEqual(said(ask({ headers: pasted }), 'x-webhook-signature'), ['client current'], pasted)
  const alone = headersOf().split('\n')[3]!.split(': ')[1]!
  assert.deepEqual(said(ask({ headers: alone }), 'webhook-signature'), [undefined, 'headers missing'])
})

const reordered = JSON.stringify({
  account: { class: 'x', id: 7 },
  amount: 500.1,
  type: 'TRANSACTION',
  url: 'https://a.example/é',
})

/** The body that a developer pastes, where another was sent. */
const pastedBodies: readonly (readonly [string, string | Buffer])[] = [
  ['trailing newline added', `${body}\n`],
  ['trailing newline added', `${body}\r\n`],
  ['byte order mark', `\uFEFF${body}`],
]

for (const [mistake, pasted] of pastedBodies)
  test(`a body with “${mistake}” is known by the header alone (${JSON.stringify(pasted).slice(-12)})`, () => {
    const answer = ask({ headers: headersOf(), body: pasted })
    assert.deepEqual(said(answer, 'x-webhook-signature'), ['client current', mistake])
    assert.deepEqual(said(answer, 'webhook-signature'), ['client current', mistake])
  })

test('a body that was printed with spaces, where the original was compact, is known by the header alone', () => {
  const compact = '{"a":1,"b":[2,3]}'
  for (const pasted of ['{"a": 1, "b": [2, 3]}', JSON.stringify(JSON.parse(compact), undefined, 2)])
    assert.deepEqual(
      said(ask({ headers: headersOf(current, compact), body: pasted }), 'x-webhook-signature'),
      [...['client current', 'parsed and printed anew']],
    )
})

test('line breaks that were changed are known by the header alone', () => {
  const lines = '{\n"a":1\n}'
  const answer = ask({ headers: headersOf(current, lines), body: lines.replaceAll('\n', '\r\n') })
  assert.deepEqual(said(answer, 'x-webhook-signature'), ['client current', 'line breaks changed'])
})

test('a newline that was cut off is known by the header alone', () => {
  const answer = ask({ headers: headersOf(current, `${body}\n`) })
  assert.deepEqual(said(answer, 'x-webhook-signature'), ['client current', 'trailing newline cut'])
})

test('with the event known, the first byte that differs is named, and what happened to the body', () => {
  const answer = ask({ headers: headersOf(), body: reordered, sent: body })
  assert.deepEqual(said(answer, 'x-webhook-signature'), ['client current', 'parsed and printed anew'])
  assert.equal(answer.isAsSent, false)
  assert.deepEqual(
    [answer.difference!.offset, answer.difference!.sent.byte, answer.difference!.pasted.byte],
    [2, '74', '61'],
  )
  assert.deepEqual(
    [answer.difference!.sent.before, answer.difference!.pasted.from.slice(0, 8)],
    ['{"', 'account"'],
  )
  const other = ask({ headers: headersOf(), body: body.replace('500.10', '900.10'), sent: body })
  assert.deepEqual(said(other, 'x-webhook-signature'), ['client current', 'another body'])
  const cut = ask({ headers: headersOf(), body: body.slice(0, -1), sent: body })
  assert.deepEqual([cut.difference!.pasted.byte, cut.difference!.sent.byte], [undefined, '7d'])
})

const parsed = JSON.parse(body) as object

/** What a program computed of the right body. */
const computed: readonly (readonly [string, string, string])[] = [
  ['right, for x-webhook-signature', hex(current, body), ''],
  ['right, for webhook-signature', sign(current.text, standard + body).digest('base64'), ''],
  ['right, with v1', `v1,${sign(current.text, standard + body).digest('base64')}`, ''],
  [
    'right, by a library of Standard Webhooks',
    sign(Buffer.from(own.text.slice(6), 'base64'), standard + body).digest('base64'),
    'webhook 7',
  ],
  ['parsed and printed anew', hex(current, JSON.stringify(parsed)), 'client'],
  ['parsed and printed anew', hex(current, JSON.stringify(parsed, undefined, 2)), 'client'],
  ['parsed and printed anew', hex(current, JSON.stringify(parsed, undefined, 4)), 'client'],
  ['parsed and printed anew', hex(current, reordered), 'client'],
  [
    'parsed and printed anew',
    hex(
      current,
      '{"type": "TRANSACTION", "url": "https://a.example/é", "amount": 500.1, "account": {"id": 7, "class": "x"}}',
    ),
    'client',
  ],
  ['escaped otherwise', hex(current, JSON.stringify(parsed).replaceAll('/', '\\/')), 'client'],
  ['escaped otherwise', hex(current, JSON.stringify(parsed).replaceAll('é', '\\u00e9')), 'client'],
  ['encoded twice', hex(current, JSON.stringify(body)), 'client'],
  ['trailing newline added', hex(current, `${body}\n`), 'client'],
  ['trailing newline added', hex(current, `${body}\r\n`), 'client'],
  ['byte order mark', hex(current, `\uFEFF${body}`), 'client'],
  ['body read already', hex(current, ''), 'client'],
  ['body read already', hex(current, '{}'), 'client'],
  ['object in place of text', hex(current, '[object Object]'), 'client'],
  ['base64 for hex', sign(current.text, body).digest('base64'), 'client'],
  ['base64 for hex', sign(current.text, body).digest('base64url'), 'client'],
  ['upper case', hex(current, body).toUpperCase(), 'client'],
  ['prefix', `sha256=${hex(current, body)}`, 'client'],
  ['signed for the other header', hex(current, standard + body), 'client'],
  ['old secret after rotation', hex(previous, body), 'client'],
  ['old secret after rotation', hex(ended, body), 'client'],
  ['next secret too early', hex(next, body), 'client'],
  ['line break in the secret', sign(`${current.text}\n`, body).digest('hex'), 'client'],
  ['quotes around the secret', sign(`"${current.text}"`, body).digest('hex'), 'client'],
  ['prefix of the secret cut off', sign(current.text.replace('cs_', ''), body).digest('hex'), 'client'],
  ['secret decoded', sign(Buffer.from(own.text.slice(6), 'base64'), body).digest('hex'), 'webhook 7'],
  ['another hash', createHmac('sha1', current.text).update(body).digest('hex'), 'client'],
  ['another hash', createHmac('sha512', current.text).update(body).digest('hex'), 'client'],
  [
    'hash without HMAC',
    createHash('sha256')
      .update(current.text + body)
      .digest('hex'),
    'client',
  ],
  [
    'hash without HMAC',
    createHash('sha256')
      .update(body + current.text)
      .digest('hex'),
    'client',
  ],
  ['wrong secret', sign('cs_live_of_somebody_else', body).digest('hex'), 'nobody'],
  ['cut off', hex(current, body).slice(0, 32), 'nobody'],
  ['no signature', 'i do not know!', 'nobody'],
]

for (const [index, [mistake, value, by]] of computed.entries())
  test(`what a program computed is found to be “${mistake}” (${index})`, () => {
    const headers = headersOf(by === own.name ? own : current)
    const [who, ...found] = said(ask({ headers, computed: value }), 'computed')
    assert.deepEqual(found, mistake.startsWith('right') ? [] : [mistake])
    if (by === 'nobody') assert.equal(who, undefined)
    else if (by !== '') assert.ok(who!.startsWith(by), who)
  })

test('two mistakes at once are both named', () => {
  const value = `sha256=${hex(previous, `${body}\n`).toUpperCase()}`
  assert.deepEqual(said(ask({ headers: headersOf(), computed: value }), 'computed'), [
    ...['client previous', 'prefix', 'upper case', 'trailing newline added', 'old secret after rotation'],
  ])
})

test('a signature of another partner is a wrong secret, whatever the body', () => {
  const foreign = {
    name: 'theirs',
    state: 'current',
    isOverruled: false,
    text: 'cs_live_of_somebody_else',
  } as const
  const answer = ask({ headers: headersOf(foreign), sent: body })
  assert.deepEqual(said(answer, 'x-webhook-signature'), [undefined, 'wrong secret'])
  assert.deepEqual(said(answer, 'webhook-signature'), [undefined, 'wrong secret'])
})

test('an answer holds nothing of any secret but its name', () => {
  const answer = ask({ headers: headersOf(), computed: hex(previous, body), body: `${body} `, sent: body })
  for (const { text } of secrets) assert.equal(JSON.stringify(answer).includes(text.slice(-12)), false)
})

test('a large body is tried in fewer ways, and says so', () => {
  const large = Buffer.from(`"${'x'.repeat(64 * 1024 - 2)}"`)
  const right = ask({ headers: `x-webhook-signature: ${hex(current, large)}`, body: large })
  assert.deepEqual([right.findings[0]!.isRight, right.isCutShort], [true, false])
  assert.equal(ask({ headers: 'ab'.repeat(32), body: Buffer.alloc(4 * 1024 * 1024, 'x') }).isCutShort, true)
})

test('text that nests without end is no JSON to print anew', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000)
  assert.deepEqual(said(ask({ headers: 'ab'.repeat(32), body: deep }), 'x-webhook-signature'), [
    undefined,
    'wrong secret',
  ])
})
