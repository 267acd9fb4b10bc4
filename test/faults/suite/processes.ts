/**
 * A node of three processes: one of them dies, their parent dies, one of them hangs for longer than its lanes
 * are its own.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { second } from '../../../src/clock.ts'
import { findChildren, tell } from '../../support/children.ts'
import { eventually } from '../../support/eventually.ts'
import type { Node } from './house.ts'
import type { Scenario } from './scenarios.ts'

const prepare = () => ({ options: { nodes: 1, nodeSettings: { PROCESSES: '3' } } })

export const processFaults: readonly Scenario[] = [
  {
    name: 'one of three processes killed each second',
    prepare,
    lasts: { shortMs: 4 * second, fullMs: 60 * second },
    async inject({ nodes }, faultMs) {
      const [node] = nodes as [Node]
      const until = performance.now() + faultMs
      for (let turn = 0; performance.now() < until; turn++) {
        const running = await eventually('a process runs', () => nonEmpty(findChildren(node.gateway.pid)))
        tell(running[turn % running.length]!, 'SIGKILL')
        await wait(second)
      }
    },
  },
  {
    name: 'the parent of three processes killed, started again',
    prepare,
    async inject({ nodes }) {
      const [node] = nodes as [Node]
      node.gateway.kill('SIGKILL')
      await node.gateway.ended
      await node.restart()
    },
  },
  {
    // Who is silent for twelve seconds is taken for gone: others have its lanes when it comes back.
    name: 'one of three processes stopped (SIGSTOP) for longer than others wait for it, continued',
    prepare,
    lasts: { shortMs: 14 * second, fullMs: 30 * second },
    async inject({ nodes }, faultMs) {
      const [victim] = findChildren((nodes as [Node])[0].gateway.pid)
      process.kill(victim!, 'SIGSTOP')
      try {
        await wait(faultMs)
      } finally {
        process.kill(victim!, 'SIGCONT')
      }
    },
  },
]

function nonEmpty<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length > 0 ? values : undefined
}
