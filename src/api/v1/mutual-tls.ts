/**
 * What RFC 8414 lists for clients that show a certificate (RFC 8705, 3.3 and 5), where they can: at a listener
 * that asks for one, or by a proxy that does.
 */
import type { Context } from '../../context.ts'
import { Type, text } from '../../vocabulary/schema.ts'

/** Where they come by the other address. */
const endpoints = [
  'token_endpoint',
  'pushed_authorization_request_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
] as const

type Addresses = Partial<Record<(typeof endpoints)[number], string>>

const address = Type.Optional(
  text('The same endpoint, by the other address.', 'https://api.example.com:8443'),
)

/** Of an authorization server, and of a resource. */
export const boundByCertificate = {
  tls_client_certificate_bound_access_tokens: Type.Optional(Type.Boolean({ description: 'RFC 8705, 3.' })),
}

export const mtlsMembers = {
  ...boundByCertificate,
  mtls_endpoint_aliases: Type.Optional(
    Type.Object(Object.fromEntries(endpoints.map((name) => [name, address])), {
      title: 'MtlsEndpointAliases',
      description: 'Where clients come that show a certificate (RFC 8705, 5).',
    }),
  ),
}

function takesCertificates({ config, environment }: Context): boolean {
  const site = config.sites.find((each) => each.environment === environment)
  return config.mtls.proxyHeader || site?.mtlsPort !== undefined
}

/** `metadata` has the endpoints as everybody is told them. */
export function describeMtls(context: Context, metadata: Addresses): object {
  if (!takesCertificates(context)) return {}
  const { baseUrl, mtlsUrl } = context
  const bound = describeBinding(context)
  if (mtlsUrl === undefined) return bound
  const aliases = endpoints.flatMap((name) => {
    const address = metadata[name]
    return address === undefined ? [] : [[name, mtlsUrl + address.slice(baseUrl.length)]]
  })
  return { mtls_endpoint_aliases: Object.fromEntries(aliases), ...bound }
}

export function describeBinding(context: Context) {
  return takesCertificates(context) ? { tls_client_certificate_bound_access_tokens: true } : {}
}

/** RFC 8705, 2: what clients may sign in with by a certificate. */
export function mtlsMethods(context: Context): readonly string[] {
  if (!takesCertificates(context)) return []
  const byAuthority = context.config.mtls.authorities.length > 0 ? ['tls_client_auth'] : []
  return [...byAuthority, 'self_signed_tls_client_auth']
}
