/**
 * A connection string may name several servers, as libpq's may: `postgresql://user@one:5432,two:5432/name`,
 * or `?host=one,two&port=5432,5433`. One of them is the primary; which one changes at a failover. A comma in
 * a path is written `%2C`.
 */
export function parseHosts(connectionString: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)([^?]*)(?:\?(.*))?$/.exec(connectionString)
  if (!parts) return [connectionString]
  const [, front = '', authority = '', path = '', query = ''] = parts
  const parameters = query.split('&').map((pair) => pair.split('='))
  const find = (wanted: string) => parameters.find(([name]) => name === wanted)?.[1]?.split(',')
  // Every server is asked whether it is the primary; there is nothing to choose.
  const others = parameters.filter(
    ([name = '']) => !['', 'host', 'port', 'target_session_attrs'].includes(name),
  )
  const print = (hosts: string, extra: readonly (readonly string[])[]) => {
    const pairs = [...extra, ...others].map((pair) => pair.join('='))
    return `${front}${hosts}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`
  }
  const [hosts, ports] = [find('host'), find('port')]
  const portOf = (index: number) => {
    const port = ports?.[index] ?? ports?.[0]
    return port === undefined ? [] : [['port', port]]
  }
  if (hosts) return hosts.map((host, index) => print(authority, [['host', host], ...portOf(index)]))
  return authority.split(',').map((host, index) => print(host, portOf(index)))
}

export interface Server {
  readonly host: string
  readonly port: number
}

/** The same database and credentials on another server. */
export function atServer(connectionString: string, { host, port }: Server): string {
  const [first = connectionString] = parseHosts(connectionString)
  const moved = new URL(first)
  moved.searchParams.delete('host')
  moved.searchParams.delete('port')
  moved.hostname = host
  moved.port = String(port)
  return moved.href
}
