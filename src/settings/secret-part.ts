/** Which part of a setting is never shown. */
export type SecretPart = 'all' | 'credentials'

export const hidden = '••••••'
/** Parameters of a connection string that say where and how, and never who. */
const harmless = ['host', 'port', 'sslmode', 'target_session_attrs', 'application_name', 'connect_timeout']
const address = /^([a-z+]+:\/\/)([^/?#@]*@)?([^/?#@]*)(\/[^?#@]*)?(?:\?([^#@]*))?$/i

/**
 * An address that can be read in two ways is not shown at all: what looks like its host may be half a
 * password.
 */
export function withoutSecret(text: string, secret: SecretPart | undefined): string {
  if (secret === undefined || text === '') return text
  const [, scheme, user, host, path = '', query] = (secret === 'credentials' && address.exec(text)) || []
  if (scheme === undefined) return hidden
  // An unescaped ampersand of a password would make its rest a name.
  const shown = query?.split('&').map((pair) => (harmless.includes(pair.replace(/=.*/s, '')) ? pair : hidden))
  // Some collectors know their customers by the path; of a database it is the name.
  const place = path.length > 1 && scheme.startsWith('http') ? `/${hidden}` : path
  return `${scheme}${user ? `${hidden}@` : ''}${host}${place}${shown ? `?${shown.join('&')}` : ''}`
}
