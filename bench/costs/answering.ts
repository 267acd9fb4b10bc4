/**
 * What a request costs that a node answers: token checks, exchanges, refreshes and publishing. No worker runs
 * meanwhile.
 */
import { callbackUrl, fillBrokerage } from '../brokerage.ts'
import { openWire, type PrintedRequest } from '../load.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from '../publisher.ts'
import { bearerGet, formPost } from '../requests.ts'
import { openStage } from '../stage.ts'
import type { House, Node } from './house.ts'
import { type Cost, measureCost } from './meter.ts'

const tokens = 1_000
const readConnections = 64
const durableConnections = 128
const publishConnections = 32

/** By the name of the work. */
export type Costs = Record<string, Cost>

interface Kind {
  readonly name: string
  readonly requests: number
  readonly connections: number
  readonly isInternal?: true
  /** How many operations a request is. */
  readonly each?: number
  make(count: number): Promise<PrintedRequest[]>
}

export async function measureAnswering(house: House): Promise<Costs> {
  const stage = openStage()
  try {
    const node = await house.startNode(stage, 'api')
    const costs: Costs = {}
    for (const kind of await listKinds(house)) {
      process.stderr.write(`${kind.name} …\n`)
      costs[kind.name] = await measureKind(house, node, kind)
    }
    // Nobody is told of them: what follows begins with an empty inbox.
    await house.db.script('TRUNCATE inbox')
    return costs
  } finally {
    await stage.close()
  }
}

async function listKinds(house: House): Promise<Kind[]> {
  const { client, makeCodes, makeAccessTokens, makeRefreshTokens } = await fillBrokerage(
    house.db,
    house.vault,
  )
  const branchId = await makeBranch(house, [])
  const publisher = await makePublisher(house)
  const access = await makeAccessTokens(tokens)
  const refresh = await makeRefreshTokens(tokens)
  const profiles = access.map((token) => bearerGet('/v1/user/profile', token))
  const questions = access.map((token) => formPost('/v1/oauth/introspect', client, { token }))
  const refreshes = refresh.map((token) =>
    formPost('/v1/oauth/refreshtoken', client, { grant_type: 'refresh_token', refresh_token: token }),
  )
  const exchanges = async (count: number) =>
    (await makeCodes(count)).map((code) =>
      formPost('/v1/oauth/accesstoken', client, {
        ...{ grant_type: 'authorization_code', code, redirect_uri: callbackUrl },
      }),
    )
  const publishes = (events: number) => async (count: number) =>
    Array.from({ length: count }, () =>
      publishRequest(
        publisher,
        Array.from({ length: events }, () => makeEvent(branchId)),
      ),
    )
  const publishing = { isInternal: true } as const
  return [
    { name: 'profile', requests: 15_000, connections: readConnections, make: repeat(profiles) },
    { name: 'introspection', requests: 15_000, connections: readConnections, make: repeat(questions) },
    { name: 'exchange', requests: 6_000, connections: durableConnections, make: exchanges },
    { name: 'exchange alone', requests: 800, connections: 1, make: exchanges },
    { name: 'refresh', requests: 6_000, connections: durableConnections, make: repeat(refreshes) },
    { name: 'refresh alone', requests: 800, connections: 1, make: repeat(refreshes) },
    { ...publishing, name: 'publish', requests: 8_000, connections: publishConnections, make: publishes(1) },
    { ...publishing, name: 'publish alone', requests: 1_000, connections: 1, make: publishes(1) },
    {
      ...publishing,
      name: 'publish by the hundred',
      requests: 400,
      each: 100,
      connections: 4,
      make: publishes(100),
    },
  ]
}

function repeat(requests: readonly PrintedRequest[]): Kind['make'] {
  return async (count) => Array.from({ length: count }, (_, index) => requests[index % requests.length]!)
}

async function measureKind(house: House, node: Node, kind: Kind): Promise<Cost> {
  let requests: PrintedRequest[] = []
  const wire = await openWire(kind.isInternal ? node.internal : node.origin, kind.connections)
  try {
    return await measureCost({
      house,
      nodePid: node.pid,
      async prepare() {
        requests = await kind.make(kind.requests)
      },
      async work() {
        await Promise.all(requests.map((request) => wire.send(request)))
        return requests.length * (kind.each ?? 1)
      },
    })
  } finally {
    wire.close()
  }
}
