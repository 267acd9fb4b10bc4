/**
 * A connection string may name several servers, as libpq's may: `postgresql://user@one:5432,two:5432/name`,
 * or `?host=one,two&port=5432,5433`. One of them is the primary; which one changes at a failover. A comma in
 * a path is written `%2C`.
 */
export function parseHosts(connectionString: string): string[] {
  const address = parseAddress(connectionString)
  if (!address) return [connectionString]
  const { authority, parameters } = address
  const find = (wanted: string) => parameters.find(([name]) => name === wanted)?.[1]?.split(',')
  const [hosts, ports] = [find('host'), find('port')]
  const portOf = (index: number) => {
    const port = ports?.[index] ?? ports?.[0]
    return port === undefined ? [] : [['port', port]]
  }
  if (hosts) return hosts.map((host, index) => address.at(authority, [['host', host], ...portOf(index)]))
  return authority.split(',').map((host, index) => address.at(host, portOf(index)))
}

export interface Server {
  readonly host: string
  readonly port: number
}

/** The same database and credentials on another server. */
export function atServer(connectionString: string, { host, port }: Server): string {
  const at = host.includes(':') ? `[${host}]` : host
  return parseAddress(connectionString)?.at(`${at}:${port}`, []) ?? connectionString
}

/** Another database on the same servers. */
export function atDatabase(connectionString: string, name: string): string {
  return connectionString.replace(/^(\w+:\/\/[^/?]*)(?:\/[^?]*)?/, `$1/${name}`)
}

type Parameter = readonly string[]

function parseAddress(connectionString: string) {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)([^?]*)(?:\?(.*))?$/.exec(connectionString)
  if (!parts) return undefined
  const [, front = '', authority = '', path = '', query = ''] = parts
  const parameters = query.split('&').map((pair) => pair.split('='))
  // Every server is asked whether it is the primary; there is nothing to choose.
  const others = parameters.filter(
    ([name = '']) => !['', 'host', 'port', 'target_session_attrs'].includes(name),
  )
  /** The same address, with these in place of its servers. */
  const at = (servers: string, where: readonly Parameter[]) => {
    const pairs = [...where, ...others].map((pair) => pair.join('='))
    return `${front}${servers}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`
  }
  return { authority, parameters, at }
}
