/**
 * What an event costs that comes while nothing waits, at a node that answers and delivers: one transaction from acceptance to hand. Alone and in
 * company, for nobody and for a webhook that answers at once.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { statement } from '../../src/database/database.ts'
import { openWire, type Wire } from '../load.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from '../publisher.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import type { Credentials } from '../requests.ts'
import { openStage } from '../stage.ts'
import type { Costs } from './answering.ts'
import type { House, Node } from './house.ts'
import { type Cost, measureCost } from './meter.ts'

const requests = 300
const betweenRequestsMs = 10
/** One request may take the short cut with at most 25. */
const inCompany = 20
const pollMs = 20

const selectWaiting = statement('bench_waiting', 'SELECT FROM queued_deliveries LIMIT 1')
/** What goes the ordinary way leaves an entry behind. */
const countInbox = statement('bench_inbox', 'SELECT nextval(pg_get_serial_sequence($1, $2))::int AS entries')

interface Bench {
  readonly house: House
  readonly node: Node
  readonly wire: Wire
  readonly publisher: Credentials
}

export async function measureShortCut(house: House): Promise<Costs> {
  const stage = openStage()
  try {
    const receiver = await startReceiver(stage)
    const nobody = await makeBranch(house, [])
    const wanted = await makeBranch(house, [`${receiver.origin}/short-cut`])
    const publisher = await makePublisher(house)
    const node = await house.startNode(stage, 'api,worker')
    const wire = await openWire(node.origin, 1)
    stage.owns(() => wire.close())
    const bench = { house, node, wire, publisher }
    const costs: Costs = {}
    const note = async (name: string, measure: () => Promise<Cost>) => {
      process.stderr.write(`${name} …\n`)
      costs[name] = await measure()
    }
    await note('short cut alone', () => measure(bench, nobody, 1))
    await note('short cut by the twenty', () => measure(bench, nobody, inCompany))
    await note('short cut alone, delivered', () => measure(bench, wanted, 1, receiver))
    return costs
  } finally {
    await stage.close()
  }
}

/** The first round, which does not count, opens the branch's day, and goes the ordinary way for it. */
function measure(bench: Bench, branchId: number, each: number, receiver?: Receiver): Promise<Cost> {
  const { house, node, wire, publisher } = bench
  let round = 0
  return measureCost({
    house,
    nodePid: node.pid,
    ...(receiver && { receiverPid: receiver.pid }),
    async work() {
      const before = await countEntries(house)
      const arrived = receiver?.awaitMore(requests * each)
      for (let n = 0; n < requests; n++) {
        const events = Array.from({ length: each }, () => makeEvent(branchId))
        await Promise.all([wire.send(publishRequest(publisher, events)), wait(betweenRequestsMs)])
      }
      await arrived
      while ((await house.db.query(selectWaiting)).length > 0) await wait(pollMs)
      const ordinary = (await countEntries(house)) - before - 1
      if (round++ > 0 && ordinary > (requests * each) / 10)
        throw new Error(`${ordinary} of ${requests * each} events did not take the short cut.`)
      return requests * each
    },
  })
}

async function countEntries({ db }: House): Promise<number> {
  const [row] = await db.query<{ entries: number }>(countInbox, ['inbox', 'id'])
  return row!.entries
}
