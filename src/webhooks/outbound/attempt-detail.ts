/**
 * What is kept of a failure beside its status or its word, for the developer who has to find the cause. It
 * comes from a receiver that is not trusted: bounded, and without what no text may hold.
 */
import { cut } from '../../text/cut.ts'
import { isRecord } from '../../vocabulary/record-of.ts'

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

/**
 * The code of the error at the bottom, and of a certificate for another host the names that it has. Undefined
 * when the word says it all.
 */
export function detailOfError(error: unknown): string | undefined {
  const { code, reason } = deepest(isRecord(error) ? error : {})
  if (typeof code !== 'string' || code === 'FORBIDDEN_ADDRESS' || code === 'NAME_UNRESOLVED') return undefined
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' && typeof reason === 'string')
    return clean(`${code}: ${reason}`, longest)
  return clean(code, longest)
}

/** Several addresses were dialled, or one error stands for another. */
function deepest(error: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { cause, errors } = error
  const below: unknown = Array.isArray(errors) ? (errors[0] ?? cause) : cause
  return isRecord(below) && 'code' in below ? deepest(below) : error
}

/** Control characters would break lines, and PostgreSQL's text cannot hold the first of them. */
function clean(text: string, most: number): string {
  return cut(text.replaceAll(/\p{Cc}/gu, ' '), most)
}
