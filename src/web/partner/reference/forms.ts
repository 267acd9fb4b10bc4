/** The forms of the signature debugger, and of the checker of assertions and proofs. */
import { checkedBytesAtMost } from '../../../webhooks/signature-debugger/signature-check.ts'
import { choice, longSecret, longText, secret, text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const code = html`class="code" spellcheck="false" autocapitalize="none" autocomplete="off"`

export const checkSignature = defineForm('/partner/:branch/signature/check', {
  headers: longText({
    label: 'Headers',
    hint: 'All that came; x-webhook-signature at least. With webhook-id, the body is compared with what was sent.',
    most: 10_000,
    more: code,
  }),
  body: longText({
    label: 'Body',
    hint: 'As your program sees it when it verifies.',
    most: checkedBytesAtMost,
    more: code,
  }),
  bodyIs: choice({
    label: 'The body is',
    hint: 'Line breaks do not survive a field of a form. Where they matter, paste base64.',
    choices: [
      { value: 'text', label: 'text' },
      { value: 'base64', label: 'base64 of the exact bytes' },
    ],
  }),
  computed: text({
    label: 'What your program computed',
    hint: 'Optional, and the quickest way to the mistake.',
    most: 300,
    more: code,
  }),
  webhook: choice({ label: 'Webhook' }),
})

/** What is pasted here is not put back: it may be a key. */
export const checkProofs = defineForm('/partner/:branch/proofs/check', {
  assertion: longSecret({
    label: 'Client assertion',
    hint: 'The value of client_assertion.',
    most: 10_000,
    more: code,
  }),
  client: choice({ label: 'Client' }),
  proof: longSecret({ label: 'DPoP proof', hint: 'The value of the DPoP header.', most: 10_000, more: code }),
  method: text({ label: 'Method of the request', hint: 'POST unless given.', most: 40, more: code }),
  url: text({
    label: 'Address of the request',
    hint: 'The public one, as discovery has it. The token endpoint unless given.',
    most: 2_000,
    more: code,
  }),
  token: secret({
    label: 'Access token',
    hint: 'Where the request is to an API: ath is compared with it.',
    most: 200,
    more: html`autocomplete="off"`,
  }),
})
