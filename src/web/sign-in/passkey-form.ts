/**
 * A form that public/passkey.js completes. Without script its button stays hidden, and the reason stays on
 * the page.
 */
import { isIP } from 'node:net'
import type { Context } from '../../context.ts'
import type { PasskeyChallenge, PasskeySite } from '../../users/passkey.ts'
import { type Html, html } from '../frame/html.ts'

export const passkeyScript = 'passkey.js'

/** Undefined where browsers have no passkeys: at an address without a name. */
export function passkeySite({ environment, baseUrl }: Context): PasskeySite | undefined {
  const { hostname } = new URL(baseUrl)
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return isAddress ? undefined : { environment, origin: baseUrl, host: hostname }
}

interface PasskeyForm {
  readonly action: string
  readonly way: 'create' | 'get'
  readonly asked: PasskeyChallenge<object>
  readonly fields: Html
  readonly button: string
  readonly primary: boolean
}

export function printPasskeyForm({
  action,
  way,
  asked: challenge,
  fields,
  button,
  primary,
}: PasskeyForm): Html {
  return html`<form method="post" action="${action}" data-passkey="${way}"
    data-options="${JSON.stringify(challenge.options)}">
${fields}<input type="hidden" name="offer" value="${challenge.sealed}"><input type="hidden" name="credential"
  value="">
<button type="button"${primary && html` class="primary"`} hidden>${button}</button>
<p class="small" role="status">Passkeys need JavaScript, which does not run in this browser.</p>
</form>`
}
