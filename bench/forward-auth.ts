/**
 * Spec 4.11: a proxy asks about requests with a thousand living access tokens: beside a bare Fastify route that
 * answers the same bytes, with an assertion for each, and as it is felt behind an nginx.
 */
import { race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { type GatewayUnderTest, startGateway } from './gateway.ts'
import { type Load, probe, underLoad } from './load.ts'
import { startNginx } from './nginx.ts'
import { bearerGet, type Credentials, cycle } from './requests.ts'
import { startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

const door = '/forward-auth/forwarded'
const bareFastify = new URL('peers/bare-fastify.ts', import.meta.url)

const serviceHeaders = ({ id, secret }: Credentials) => [`x-countersign-service: ${id}:${secret}`]

/** As Traefik and Caddy tell of a request. */
const original = [
  ...['x-forwarded-method: POST', 'x-forwarded-proto: https', 'x-forwarded-host: api.example.com'],
  'x-forwarded-uri: /accounts/6YA10002/orders?dry=1',
]

function raceAtDoor(name: string, needs: string, goal: number) {
  return race({
    name,
    unit: 'requests/s',
    async open(stage, source) {
      const gateway = await startGateway(stage, source)
      const headers = [...serviceHeaders(await gateway.makePublisher()), ...original]
      const tokens = await gateway.makeAccessTokens(holders)
      const requests = tokens.map((token) => bearerGet(`${door}?${needs}`, token, headers))
      const load = (origin: string): Load => ({
        ...{ origin, prepareRound: cycle(requests), expected: 'x-countersign-subject: id-' },
      })
      const ours = load(gateway.internal)
      return {
        ours: underLoad(ours),
        async openPeers() {
          const bare = await startPeer(stage, bareFastify, [door, JSON.stringify(await probe(ours))])
          return [{ against: 'a bare Fastify route', goal, side: underLoad(load(bare.origin)) }]
        },
      }
    },
  })
}

export const forwardAuth = raceAtDoor('forward-auth', 'scope=read', 0.6)
export const forwardAuthAssertion = raceAtDoor('forward-auth-assertion', 'scope=read&assertion=1', 0.2)

const path = '/orders'

/** A small API, and two servers of an nginx before it. One of them asks us. */
async function openProxied(stage: Stage, gateway: GatewayUnderTest) {
  const answer = { headers: { 'content-type': 'application/json' }, text: '{"orders":[]}' }
  const api = await startPeer(stage, bareFastify, [path, JSON.stringify(answer)])
  const { id, secret } = await gateway.makePublisher()
  const [open, guarded] = await startNginx(stage, {
    upstreams: { api: api.origin, countersign: gateway.internal },
    servers: [
      'location / { proxy_pass http://api; }',
      `location / { auth_request /auth; auth_request_set $subject $upstream_http_x_countersign_subject;
         proxy_set_header Connection ""; proxy_set_header X-Countersign-Subject $subject; proxy_pass http://api; }
       location = /auth { internal; proxy_pass http://countersign/forward-auth/original?scope=read;
         proxy_pass_request_body off; proxy_set_header Connection ""; proxy_set_header Content-Length "";
         proxy_set_header X-Countersign-Service ${id}:${secret};
         proxy_set_header X-Original-Method $request_method;
         proxy_set_header X-Original-URL $scheme://$http_host$request_uri; }`,
    ],
  })
  return { open: open!, guarded: guarded! }
}

export const forwardAuthNginx = race({
  name: 'forward-auth-nginx',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const proxied = await openProxied(stage, gateway)
    const requests = (await gateway.makeAccessTokens(holders)).map((token) => bearerGet(path, token))
    const load = (origin: string): Load => ({ origin, prepareRound: cycle(requests), expected: '"orders"' })
    return {
      ours: underLoad(load(proxied.guarded)),
      openPeers: async () => [
        { against: 'the same nginx without', goal: 0.4, side: underLoad(load(proxied.open)) },
      ],
    }
  },
})
