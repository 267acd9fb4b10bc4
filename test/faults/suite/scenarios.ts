/**
 * What can go wrong, one after the other. Each resolves when the fault is over and the house is left to
 * itself.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { hour } from '../../../src/clock.ts'
import type { House, HouseOptions, Node } from './house.ts'
import { ordinaryLife } from './ordinary-life.ts'
import type { Server } from './postgres.ts'
import { processFaults } from './processes.ts'
import type { Weather } from './relay.ts'
import { openSmallDisk, type SmallDisk } from './small-disk.ts'

export interface Scenario {
  readonly name: string
  /**
   * With every `npm test`: one of each kind. With `npm run test:faults` alone: another one is much the same.
   * All others with `npm run test:long`.
   */
  readonly when?: 'always' | 'at length'
  /** How long the fault lasts, where that is not as long as any other: in the short form, and at length. */
  readonly lasts?: { readonly shortMs: number; readonly fullMs: number }
  /** Answers undefined where this machine cannot have the fault. */
  prepare?(): Preparation | undefined
  /** `waiting`: how large a backlog is. */
  inject(house: House, faultMs: number, disk: SmallDisk | undefined, waiting: number): Promise<void>
}

export interface Preparation {
  readonly options: HouseOptions
  readonly disk?: SmallDisk
}

const jumps = new URL('jump.ts', import.meta.url).href

export const scenarios: readonly Scenario[] = [
  {
    name: 'each node in turn stopped in order, started again',
    async inject({ nodes }) {
      for (const node of nodes) {
        await node.gateway.stop()
        await node.restart()
      }
    },
  },
  {
    name: '`kill -9` of each node in turn',
    when: 'always',
    async inject({ nodes }) {
      for (const node of nodes) {
        node.gateway.kill('SIGKILL')
        await node.gateway.ended
        await node.restart()
      }
    },
  },
  {
    name: 'PostgreSQL stopped at once (`immediate`), started again',
    when: 'at length',
    async inject({ pair: { primary } }, faultMs) {
      await primary.stop('immediate')
      await wait(faultMs)
      await primary.start()
    },
  },
  {
    name: '`kill -9` of PostgreSQL, started again',
    async inject({ pair: { primary } }, faultMs) {
      await primary.stop('kill')
      await wait(faultMs)
      await primary.start()
    },
  },
  {
    name: '`kill -9` of the primary, standby promoted',
    when: 'always',
    async inject({ pair: { primary, standby } }, faultMs) {
      await primary.stop('kill')
      await wait(faultMs)
      await standby.ask('SELECT pg_promote()')
    },
  },
  {
    name: 'every backend terminated, five times a second',
    when: 'at length',
    async inject({ pair: { primary } }, faultMs) {
      const until = performance.now() + faultMs
      while (performance.now() < until) {
        await terminateAll(primary)
        await wait(200)
      }
    },
  },
  {
    name: 'every connection of PostgreSQL taken by others',
    inject: ({ pair: { primary } }, faultMs) => holdAllConnections(primary, faultMs),
  },
  {
    name: 'disk of the primary full',
    prepare() {
      const disk = openSmallDisk()
      return disk && { options: { primaryFolder: join(disk.folder, 'cluster') }, disk }
    },
    async inject({ pair: { primary } }, faultMs, disk) {
      disk!.fill()
      await wait(faultMs)
      disk!.clear()
      // Without room for its log PostgreSQL gives up; whoever watches over it starts it again.
      if (!(await answers(primary))) {
        await primary.stop('kill')
        await primary.start()
      }
    },
  },
  {
    name: 'wall clock of two nodes an hour ahead, then an hour behind',
    prepare: () => ({
      options: { nodeSettings: { NODE_OPTIONS: `--import=${jumps}`, CLOCK_JUMPS_MS: `${hour},${-hour},0` } },
    }),
    async inject({ nodes }, faultMs) {
      for (let jump = 0; jump < 3; jump++) {
        for (const { gateway } of nodes.slice(1)) gateway.kill('SIGUSR2')
        await wait(faultMs / 2)
      }
    },
  },
  {
    name: 'network of every node slow (150 ms each way)',
    when: 'at length',
    inject: ({ nodes }, faultMs) => changeWeather(nodes, { kind: 'slow', delayMs: 150 }, faultMs),
  },
  {
    name: 'network of one node cut (every connection reset)',
    when: 'at length',
    inject: ({ nodes }, faultMs) => changeWeather(nodes.slice(0, 1), { kind: 'cut' }, faultMs),
  },
  {
    name: 'network of one node silent (nothing arrives, nobody is told)',
    when: 'at length',
    inject: ({ nodes }, faultMs) => changeWeather(nodes.slice(0, 1), { kind: 'silent' }, faultMs),
  },
  {
    name: 'network of every node silent',
    when: 'always',
    inject: ({ nodes }, faultMs) => changeWeather(nodes, { kind: 'silent' }, faultMs),
  },
  ...processFaults,
  ...ordinaryLife,
]

async function changeWeather(nodes: readonly Node[], weather: Weather, faultMs: number): Promise<void> {
  for (const node of nodes) node.change(weather)
  await wait(faultMs)
  for (const node of nodes) node.change({ kind: 'fair' })
}

function terminateAll(server: Server): Promise<object[]> {
  return server.ask(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign' AND pid <> pg_backend_pid()",
  )
}

/** Takes what is free, ends what the nodes hold and takes that too, faster than they can come back. */
async function holdAllConnections(server: Server, faultMs: number): Promise<void> {
  const held: pg.Client[] = []
  let isFull = false
  const takeOne = async () => {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: server.port,
      user: 'countersign',
      database: 'postgres',
    })
    client.on('error', () => {})
    await client.connect().then(
      () => held.push(client),
      () => {
        isFull = true
      },
    )
  }
  while (!isFull) await takeOne()
  const terminator = held[0]!
  const until = performance.now() + faultMs
  while (performance.now() < until) {
    await terminator.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'countersign'",
    )
    await Promise.all(Array.from({ length: 8 }, takeOne))
    await wait(20)
  }
  await Promise.all(held.map((client) => client.end()))
}

async function answers(server: Server): Promise<boolean> {
  return server.ask('CREATE TEMP TABLE room AS SELECT 1').then(
    () => true,
    () => false,
  )
}
