/**
 * The files of ops/forward-auth for Traefik and Envoy, which nothing here can run: the questions that their
 * documentation says they ask with these files are asked, and of the answer is made what it says.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { openProxy } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'
import { openHolder, sendRaw } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)
const service = await openProxy(house)
const { access_token: trading } = await holder.tokens(client, { scope: 'read trade' })

type Headers = readonly (readonly [name: string, value: string])[]

/** What a client sends in the hope of being somebody. */
const smuggled: Headers = [
  ['X-Countersign-Subject', 'evil'],
  ['x-countersign-subject', 'evil'],
  ['X_Countersign_Subject', 'evil'],
  ['X.Countersign.Subject', 'evil'],
  ['X-Countersign_Subject', 'evil'],
  ['X-COUNTERSIGN-SCOPE', 'evil'],
  ['X-Countersign-Service', 'evil'],
  ['X-Countersign-Needs', 'scope=read'],
]

interface Sent {
  readonly token?: string
  readonly method: string
  readonly target: string
  readonly headers: Headers
}

interface Verdict {
  readonly status: number
  readonly challenge: string | undefined
  /** What the API behind is sent. */
  readonly upstream: Headers
}

const read = (file: string) => readFileSync(`ops/forward-auth/${file}`, 'utf8')
const hasName = (headers: Headers, name: string) => headers.filter(([each]) => each.toLowerCase() === name)

async function ask(start: string, headers: Headers): Promise<{ status: number; headers: Headers }> {
  const lines = [...headers, ['Connection', 'close'] as const].map((pair) => pair.join(': '))
  const { status, head } = await sendRaw(
    house.internalUrl,
    [`${start} HTTP/1.1`, ...lines, '', ''].join('\r\n'),
  )
  const answered = head
    .split('\r\n')
    .slice(1)
    .map(
      (line) =>
        [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
    )
  return { status, headers: answered }
}

interface TraefikFile {
  readonly http: {
    readonly middlewares: Record<
      string,
      {
        readonly headers?: { readonly customRequestHeaders: Record<string, string> }
        readonly forwardAuth?: {
          readonly address: string
          readonly trustForwardHeader: boolean
          readonly authRequestHeaders: string[]
          readonly authResponseHeadersRegex: string
        }
      }
    >
    readonly routers: Record<string, { readonly rule: string; readonly middlewares: string[] }>
  }
}

/** https://doc.traefik.io/traefik/middlewares/http/forwardauth/ and …/headers/ */
async function passTraefik({ token, method, target, headers }: Sent): Promise<Verdict> {
  const { http } = parse(
    read('traefik.yaml').replace('{{ env "COUNTERSIGN_SERVICE" }}', service.credential),
  ) as TraefikFile
  const router = Object.values(http.routers).find(({ rule }) => {
    const [, prefix] = /PathPrefix\(`(.+)`\)/.exec(rule)!
    return target.startsWith(prefix!)
  })
  if (!router) return { status: 404, challenge: undefined, upstream: [] }
  let upstream: Headers = [
    ...headers,
    ...(token === undefined ? [] : [['Authorization', `Bearer ${token}`] as const]),
  ]
  for (const name of router.middlewares) {
    const middleware = http.middlewares[name]!
    for (const [key, value] of Object.entries(middleware.headers?.customRequestHeaders ?? {}))
      upstream = [...upstream.filter(([each]) => each.toLowerCase() !== key.toLowerCase()), [key, value]]
    if (!middleware.forwardAuth) continue
    const { address, trustForwardHeader, authRequestHeaders, authResponseHeadersRegex } =
      middleware.forwardAuth
    assert.equal(trustForwardHeader, false)
    const { pathname, search } = new URL(address)
    const copied = upstream.filter(([each]) =>
      authRequestHeaders.some((key) => key.toLowerCase() === each.toLowerCase()),
    )
    const answer = await ask(`GET ${pathname}${search}`, [
      ['Host', new URL(address).host],
      ...copied,
      ['X-Forwarded-Method', method],
      ['X-Forwarded-Proto', 'https'],
      ['X-Forwarded-Host', 'orders.example.com'],
      ['X-Forwarded-Uri', target],
      ['X-Forwarded-For', '203.0.113.9'],
    ])
    const challenge = hasName(answer.headers, 'www-authenticate')[0]?.[1]
    if (answer.status !== 200) return { status: answer.status, challenge, upstream: [] }
    assert.ok(authResponseHeadersRegex.startsWith('(?i)'))
    const taken = new RegExp(authResponseHeadersRegex.slice('(?i)'.length), 'i')
    upstream = [
      ...upstream.filter(([each]) => !taken.test(each)),
      ...answer.headers.filter(([each]) => taken.test(each)),
    ]
  }
  return { status: 200, challenge: undefined, upstream }
}

interface EnvoyFile {
  // biome-ignore lint/suspicious/noExplicitAny: as deep as Envoy has it
  readonly static_resources: any
}

/** https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/ext_authz/v3/ext_authz.proto */
async function passEnvoy({ token, method, target, headers }: Sent): Promise<Verdict> {
  const file = parse(read('envoy.yaml').replace('"ID:SECRET"', service.credential)) as EnvoyFile
  const { route_config, http_filters, common_http_protocol_options } =
    file.static_resources.listeners[0].filter_chains[0].filters[0].typed_config
  assert.equal(common_http_protocol_options.headers_with_underscores_action, 'DROP_HEADER')
  const [lua, authz] = http_filters
  const [host] = route_config.virtual_hosts
  const route = host.routes.find(({ match }: { match: { path_separated_prefix: string } }) =>
    target.split('?')[0]!.match(`^${match.path_separated_prefix}(/|$)`),
  )
  if (!route) return { status: 404, challenge: undefined, upstream: [] }
  const source: string = lua.typed_config.default_source_code.inline_string
  assert.match(source, /name:find\("\^x\[\^a-z0-9\]\*countersign"\)/)
  const kept = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !name.includes('_') && !/^x[^a-z0-9]*countersign/.test(name))
  const needs: string = route.metadata.filter_metadata['envoy.filters.http.lua'].needs
  const { allowed_headers, failure_mode_allow, http_service } = authz.typed_config
  assert.equal(failure_mode_allow, false)
  assert.deepEqual(allowed_headers.patterns, [{ exact: 'x-countersign-needs' }, { exact: 'dpop' }])
  const authorization: Headers = token === undefined ? [] : [['authorization', `Bearer ${token}`]]
  const added: Headers = http_service.authorization_request.headers_to_add.map(
    ({ key, value }: { key: string; value: string }) => [key, value] as const,
  )
  const answer = await ask(`${method} ${http_service.path_prefix}${target}`, [
    ['host', 'orders.example.com'],
    ...authorization,
    ['content-length', '0'],
    ['x-countersign-needs', needs],
    ...added,
  ])
  const challenge = hasName(answer.headers, 'www-authenticate')[0]?.[1]
  if (answer.status !== 200) return { status: answer.status, challenge, upstream: [] }
  const { prefix } = http_service.authorization_response.allowed_upstream_headers.patterns[0]
  assert.deepEqual(host.request_headers_to_remove, ['x-countersign-needs'])
  return {
    status: 200,
    challenge: undefined,
    upstream: [...kept, ...authorization, ...answer.headers.filter(([name]) => name.startsWith(prefix))],
  }
}

const passes = { Traefik: passTraefik, Envoy: passEnvoy }

for (const [name, pass] of Object.entries(passes)) {
  test(`${name}: a request that may pass comes to the API with who it is from, and nothing that its client made up`, async () => {
    for (const target of ['/quotes?scope=trade&account=x&max_age=1', '/orders/7%2F8?scope=read&scope=read']) {
      const { status, upstream } = await pass({ token: trading, method: 'POST', target, headers: smuggled })
      assert.equal(status, 200, target)
      for (const [header, value] of upstream)
        assert.ok(!/evil/.test(value) && !value.includes(service.credential), header)
      const said = upstream.filter(([header]) => /^x[^a-z0-9]*countersign/i.test(header))
      assert.deepEqual(new Set(said.map(([header]) => header)).size, said.length)
      assert.equal(said.length, 13)
      const identity = Object.fromEntries(said)
      assert.equal(identity['x-countersign-subject'], holder.user.id)
      assert.equal(identity['x-countersign-scope'], 'read trade')
      assert.equal(identity['x-countersign-assertion'] !== '', target.startsWith('/orders'))
    }
  })

  test(`${name}: who may not pass is told why`, async () => {
    const { access_token: reading } = await holder.tokens(await house.makeClient(), { scope: 'read' })
    const sent = { method: 'GET', target: '/orders?scope=read', headers: smuggled }
    for (const [token, status] of [
      [undefined, 401],
      ['x', 401],
      [reading, 403],
    ] as const) {
      const verdict = await pass({ ...sent, ...(token && { token }) })
      assert.equal(verdict.status, status)
      assert.match(verdict.challenge!, /^Bearer /)
    }
    assert.equal((await pass({ ...sent, token: trading, target: '/elsewhere' })).status, 404)
  })
}
