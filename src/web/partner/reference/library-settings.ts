/**
 * What an OAuth library has to be told, with the partner's own values. docs/libraries.md has the same,
 * library by library.
 */
import type { Client } from '../../../partners/client.ts'
import { type Html, html } from '../../frame/html.ts'
import { facts } from '../../frame/parts.ts'

export function printLibrarySettings(baseUrl: string, client: Client | undefined): Html {
  const address = (path: string) => html`<code>${baseUrl}${path}</code>`
  return html`<h2>Settings for OAuth libraries</h2>
${facts([
  ['Authorize', address('/v1/oauth/authorize')],
  ['Token and refresh', address('/v1/oauth/accesstoken')],
  ['Profile (user info)', address('/v1/user/profile')],
  ['Issuer', address('')],
  ['Discovery', address('/.well-known/oauth-authorization-server')],
  ['Client id', client && html`<code>${client.id}</code>`],
  ['Callback (redirect URI)', client && html`<code>${client.callbackUrl}</code>`],
])}
<p class="small">Choose OAuth 2, not OpenID Connect, and switch
  <code>state</code> on. These values are all that Passport, Auth.js, OmniAuth,
  Spring Security and similar libraries need.</p>`
}
