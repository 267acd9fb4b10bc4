/**
 * Spec 4.3: the redirect_uri of an exchange is the callback, byte for byte. OmniAuth and its kind send the
 * address at which they were called instead, with the answer still behind the callback. That answer is taken
 * off: each of its parameters once at most, the code and the issuer being those of this very exchange. With
 * anything else the address differs, and stays as it came.
 */
import { openQuery } from './authorization-request.ts'

interface CodeResponse {
  readonly callbackUrl: string
  readonly code: string
  readonly issuer: string
}

const judges = new Map<string, (value: string, response: CodeResponse) => boolean>([
  ['code', (value, { code }) => value === code],
  ['state', (value) => /^[!-~]+$/.test(value)],
  ['iss', (value, { issuer }) => value === issuer || value === encodeURIComponent(issuer)],
])

/** What the client names as its callback. */
export function readRedirectUri(sent: string, response: CodeResponse): string {
  const query = openQuery(response.callbackUrl)
  return sent.startsWith(query) && isAnswer(sent.slice(query.length), response) ? response.callbackUrl : sent
}

function isAnswer(text: string, response: CodeResponse): boolean {
  const pairs = text.split('&').map((pair) => /^([a-z]+)=([^#]+)$/.exec(pair) ?? [])
  const names = new Set(pairs.map(([, name]) => name))
  return (
    names.size === pairs.length &&
    pairs.every(([, name = '', value = '']) => judges.get(name)?.(value, response))
  )
}
