/**
 * A call as a line to run: with the partner's own ids, and with secrets from the environment, never from the
 * page.
 */
import { type Body, type Operation, ownExample, ownIdOf, type PartnerValues } from './api-document.ts'

export function printCurl(operation: Operation, own: PartnerValues): string {
  const { method, path, body } = operation
  const how = method === 'GET' ? [] : [`-X ${method}`]
  const query = path === '/v1/oauth/authorize' ? `?client_id=${own.clientId}&scope=read&state=RANDOM` : ''
  const address = `"${own.baseUrl}${fillPath(operation, own)}${query}"`
  return [
    'curl',
    ...how,
    ...credentials(operation, own),
    ...(body ? printBody(body, own) : []),
    address,
  ].join(' ')
}

function credentials({ takes }: Operation, { clientId }: PartnerValues): string[] {
  if (takes.includes('client')) return [`-u "${clientId}:$CLIENT_SECRET"`]
  return takes.includes('token') ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []
}

/** `/v2/webhooks/{id}` → `/v2/webhooks/7`; what is not known is a variable of the shell. */
function fillPath(operation: Operation, own: PartnerValues): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(ownIdOf(operation, name, own) ?? variableOf(operation, name)),
  )
}

function variableOf({ path }: Operation, name: string): string {
  if (name !== 'id') return `$${name.replace(/Id$/, '').toUpperCase()}_ID`
  return path.startsWith('/v2/deliveries/') ? '$DELIVERY_ID' : '$WEBHOOK_ID'
}

/** Tokens and codes are good once, or secret: they come from the environment too. */
function printBody(body: Body, own: PartnerValues): string[] {
  const example = ownExample(body, own)
  if (body.type === 'application/json')
    return [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(example))}`]
  return Object.entries(example as Record<string, string>).map(([name, value]) =>
    /^[A-Z_]+$/.test(value)
      ? `--data-urlencode "${name}=$${value}"`
      : `--data-urlencode ${quote(`${name}=${value}`)}`,
  )
}

/** For a shell, whatever it holds. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
