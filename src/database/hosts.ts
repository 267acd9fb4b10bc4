/**
 * A connection string may name several servers, as libpq's may: `postgresql://user@one:5432,two:5432/name`, or
 * `?host=one,two&port=5432,5433`. One of them is the primary; which one changes at a failover.
 */
export function parseHosts(connectionString: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)([^?]*)(?:\?(.*))?$/.exec(connectionString)
  if (!parts) return [connectionString]
  const [, front, authority, path, query = ''] = parts as unknown as [string, string, string, string, string?]
  const parameters = new URLSearchParams(query)
  // Every server is asked whether it is the primary; there is nothing to choose.
  parameters.delete('target_session_attrs')
  const hosts = parameters.get('host')?.split(',')
  if (!hosts) return authority.split(',').map((host) => `${front}${host}${path}${printQuery(parameters)}`)
  const ports = parameters.get('port')?.split(',')
  return hosts.map((host, index) => {
    parameters.set('host', host)
    const port = ports?.[index] ?? ports?.[0]
    if (port !== undefined) parameters.set('port', port)
    return `${front}${authority}${path}${printQuery(parameters)}`
  })
}

function printQuery(parameters: URLSearchParams): string {
  return parameters.size === 0 ? '' : `?${parameters}`
}
