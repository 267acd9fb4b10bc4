/**
 * How the signatures of an attempt come about, step by step, with the partner's own values. The secret stays
 * masked.
 */
import { createHmac } from 'node:crypto'
import { cut } from '../../../text/cut.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import { decodeStandardKey, type SigningSecrets } from '../../../webhooks/outbound/signature.ts'
import { type Html, html } from '../../frame/html.ts'

interface SignedAttempt {
  readonly uid: string
  readonly body: string
  readonly at: Date
}

export function printSteps({ uid, body, at }: SignedAttempt, secrets: SigningSecrets): Html {
  const id = printEventId(uid)
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = mask(secrets.current)
  const hex = createHmac('sha256', secrets.current).update(body).digest('hex')
  const sign = (by: string | Buffer) =>
    createHmac('sha256', by).update(`${id}.${timestamp}.${body}`).digest('base64')
  const decoded = decodeStandardKey(secrets.current)
  return html`<ol class="steps">
<li>Take the body exactly as it arrived:
  <strong>${Buffer.byteLength(body)} bytes</strong>. Do not parse and re-serialize it.</li>
<li>Take the secret as text, in UTF-8, with all that it begins with: <code>${key}</code></li>
<li>HMAC-SHA256 of the body under it, in lower-case hex, is
  <code>x-webhook-signature</code>:<br><code>${hex}</code></li>
<li>For <code>webhook-signature</code>, put the id, the timestamp and the body together with
  dots:<br><code>${id}.${timestamp}.${shorten(body)}</code></li>
<li>HMAC-SHA256 of that, in base64, behind
  <code>v1,</code>:<br><code>v1,${sign(secrets.current)}</code>${
    decoded &&
    html`<br>and,
  for libraries of Standard Webhooks, under the bytes that stand behind
  <code>whsec_</code> in base64:<br><code>v1,${sign(decoded)}</code>`
  }${secrets.all.length > 1 && html`<br>While secrets are being replaced each of the ${secrets.all.length} signs; any signature may match.`}</li>
<li>Compare in constant time, and refuse a timestamp that is more than five minutes off.</li>
</ol>`
}

/** Enough to recognise it, too little to use it. */
function mask(secret: string): string {
  const tail = secret.length >= 24 ? secret.slice(-4) : ''
  return `••••••••${tail}`
}

function shorten(body: string): string {
  return body.length > 60 ? `${cut(body, 60)}…` : body
}
