/**
 * What is kept of a failure beside its status or its word, for the developer who has to find the cause. It
 * comes from a receiver that is not trusted: bounded, and without what no text may hold.
 */
import { cut } from '../../text/cut.ts'

const longest = 300
const headerLongest = 150

/** Headers that tell which server answered, and where it wants to send the caller. */
const tellingHeaders = ['server', 'via', 'content-type', 'location', 'www-authenticate'] as const

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** A line for each of them; undefined when there is none. */
export function detailOfAnswer(headers: Headers): string | undefined {
  const lines = tellingHeaders.flatMap((name) => {
    const value = [headers[name]].flat()[0]
    return value === undefined ? [] : [`${name}: ${clean(value, headerLongest)}`]
  })
  return lines.length > 0 ? lines.join('\n') : undefined
}

interface SystemError {
  readonly code?: unknown
  readonly reason?: unknown
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

/**
 * The code of the error at the bottom, and of a certificate for another host the names that it has. Undefined
 * when the word says it all.
 */
export function detailOfError(error: unknown): string | undefined {
  const { code, reason } = deepest(error)
  if (typeof code !== 'string' || code === 'FORBIDDEN_ADDRESS' || code === 'NAME_UNRESOLVED') return undefined
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' && typeof reason === 'string')
    return clean(`${code}: ${reason}`, longest)
  return clean(code, longest)
}

/** Several addresses were dialled, or one error stands for another. */
function deepest(error: unknown): SystemError {
  const { cause, errors } = error as SystemError
  const below = errors?.[0] ?? cause
  return typeof below === 'object' && below !== null && 'code' in below
    ? deepest(below)
    : (error as SystemError)
}

/** Control characters would break lines, and PostgreSQL's text cannot hold the first of them. */
function clean(text: string, most: number): string {
  return cut(text.replaceAll(/\p{Cc}/gu, ' '), most)
}
