/** The form of the signature debugger. */
import { checkedBytesAtMost } from '../../../webhooks/signature-debugger/signature-check.ts'
import { choice, longText, text } from '../../frame/field.ts'
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
