/**
 * Spec 4.3 and 5.4: how a client says who it is. HTTP Basic in both readings that clients in the field
 * produce (form-encoded as RFC 6749 has it, and raw), or `client_id` and `client_secret` in the form; never
 * in the query.
 */
import { decodeFormText, type Form } from '../http/form.ts'
import { OAuthError } from './oauth-error.ts'

export interface ClientCredentials {
  readonly id: string
  readonly secret: string
}

/** One sender, one or two ways to read what it sent. Undefined when nothing was sent. */
export function parseCredentials(
  authorization: string | undefined,
  form: Form,
): ClientCredentials[] | undefined {
  const id = stringIn(form, 'client_id')
  const secret = stringIn(form, 'client_secret')
  const basic = authorization === undefined ? undefined : parseBasic(authorization)
  if (!basic) {
    if (secret === undefined) return undefined
    if (id === undefined) throw new OAuthError('invalid_request', 'client_secret was sent without client_id.')
    return [{ id, secret }]
  }
  const agreeing = basic.filter(
    (reading) =>
      (id === undefined || reading.id === id) && (secret === undefined || reading.secret === secret),
  )
  if (agreeing.length === 0) {
    throw new OAuthError(
      'invalid_request',
      'The Authorization header and the form name different client credentials. Send one of them.',
    )
  }
  return agreeing
}

/** Strict base64, split at the first colon. */
export function parseBasic(authorization: string): ClientCredentials[] {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization) ?? []
  const bytes = Buffer.from(encoded, 'base64')
  const isCanonical = bytes.toString('base64').replace(/(?<!=)=+$/, '') === encoded.replace(/(?<!=)=+$/, '')
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  if (!isCanonical || colon < 0) {
    throw new OAuthError(
      'invalid_client',
      'The Authorization header must be "Basic", a space, and base64 of client_id:client_secret.',
    )
  }
  const raw = { id: text.slice(0, colon), secret: text.slice(colon + 1) }
  const decoded = { id: decodeFormText(raw.id), secret: decodeFormText(raw.secret) }
  return decoded.id === raw.id && decoded.secret === raw.secret ? [raw] : [decoded, raw]
}

const kept = ['client_id', 'client_secret', 'client_assertion', 'code', 'refresh_token', 'token']

export function refuseCredentialsInQuery(query: Form): void {
  for (const name of kept) {
    if (query[name] !== undefined) {
      throw new OAuthError(
        'invalid_request',
        `${name} must not be in the address, where it would be logged. Send it in the body.`,
      )
    }
  }
}

function stringIn(form: Form, name: string): string | undefined {
  const value = form[name]
  if (Array.isArray(value)) throw new OAuthError('invalid_request', `${name} was sent more than once.`)
  return value === '' ? undefined : value
}
