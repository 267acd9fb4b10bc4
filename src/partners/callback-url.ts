import { isLoopbackHost } from '../network/loopback.ts'
import type { Environment } from '../vocabulary/environment.ts'

const maxLength = 2_000

/**
 * What is wrong with a callback URL, or undefined. Plain http is for loopback, in the sandbox or in
 * development.
 */
export function findCallbackProblem(
  text: string,
  { environment, development }: { environment: Environment; development: boolean },
): string | undefined {
  if (text.length > maxLength) return `must have at most ${maxLength} characters`
  if (!/^[\x21-\x7e]+$/.test(text)) return 'must be plain ASCII without spaces (percent-encode anything else)'
  if (!URL.canParse(text) || !/^[a-z]+:\/\/[^/]/i.test(text))
    return 'must be an absolute URL such as https://app.example.com/callback'
  const url = new URL(text)
  if (text.includes('#')) return 'must not have a fragment'
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text))
    return 'must not carry credentials'
  if (text.includes('*')) return 'must not contain a wildcard'
  if (text.includes('\\')) return 'must not contain a backslash'
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/.test(url.hostname)) return 'must have a plain host name'
  if (url.protocol === 'https:') return undefined
  const loopbackAllowed = environment === 'sandbox' || development
  if (url.protocol === 'http:' && isLoopbackHost(url.hostname) && loopbackAllowed) return undefined
  return loopbackAllowed
    ? 'must begin with https:// (http:// only for loopback addresses)'
    : 'must begin with https://'
}
