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

/** What the script needs to know of the form that it completes. */
export function passkeyOf(way: 'create' | 'get', { options }: PasskeyChallenge<object>) {
  return { attributes: html`data-passkey="${way}" data-options="${JSON.stringify(options)}"` }
}

/** Where a passkey may be the whole of a sign-in: people add theirs on the live site alone. */
export function firstPasskeySite(context: Context): PasskeySite | undefined {
  return context.environment === 'live' ? passkeySite(context) : undefined
}

/** Without script there is nothing to say: a password does as well. */
export function printPasskeyChoice(button: string): Html {
  return html`<button type="button" class="wide" hidden>${button}</button><p class="small" role="status"></p>`
}

export function printPasskeyParts(button: string, isPrimary: boolean): Html {
  return html`<button type="button"${isPrimary && html` class="primary"`} hidden>${button}</button>
<p class="small" role="status">Passkeys need JavaScript, which does not run in this browser.</p>`
}
