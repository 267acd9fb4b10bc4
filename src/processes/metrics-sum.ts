/**
 * What all processes have counted, as one. Who is gone, or does not answer, goes on counting for what it last
 * said: a counter that fell would look to Prometheus as if everything had been counted anew.
 */
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import type { CollectedMetrics } from '../metrics/metrics.ts'
import type { Printed } from '../metrics/server.ts'
import type { Family } from './family.ts'
import type { FromChild } from './messages.ts'

/** Less than anybody who asks would wait. */
const patienceMs = 2_000

type Told = Extract<FromChild, { kind: 'metrics' }>

export interface MetricsSum extends Printed {
  hear(child: number, told: Told): void
  forget(child: number): void
}

export function openMetricsSum(family: () => Family): MetricsSum {
  const last = new Map<number, CollectedMetrics>()
  let gone: CollectedMetrics[] = []
  const rounds = new Map<number, { readonly missing: Set<number>; readonly complete: () => void }>()
  const own = countFamily(family)
  let number = 0

  function answered(round: number, child: number): void {
    const { missing, complete } = rounds.get(round) ?? {}
    missing?.delete(child)
    if (missing?.size === 0) complete!()
  }

  /** Those who have not answered when patience is over. */
  async function askAll(): Promise<ReadonlySet<number>> {
    const { promise, resolve: complete } = Promise.withResolvers<void>()
    const mine = ++number
    const missing = new Set(family().running())
    rounds.set(mine, { missing, complete })
    for (const child of [...missing])
      if (!family().say(child, { kind: 'collect', number: mine })) answered(mine, child)
    if (missing.size === 0) complete()
    const timer = setTimeout(complete, patienceMs)
    await promise
    clearTimeout(timer)
    rounds.delete(mine)
    return missing
  }

  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async print() {
      const silent = await askAll()
      const living = [...last].map(([child, metrics]) => (silent.has(child) ? counts(metrics) : metrics))
      if (gone.length > 1) gone = [await add(gone).getMetricsAsJSON()]
      return add([await own.getMetricsAsJSON(), ...living, ...gone]).metrics()
    },
    hear(child, { number: round, metrics }) {
      last.set(child, metrics)
      answered(round, child)
    },
    forget(child) {
      const counted = last.get(child)
      last.delete(child)
      if (counted) gone.push(counts(counted))
      for (const round of rounds.keys()) answered(round, child)
    },
  }
}

function add(collected: readonly CollectedMetrics[]): Registry {
  return AggregatorRegistry.aggregate(collected as unknown as object[])
}

/** What only grows; how things were is of no use when somebody is gone. */
function counts(metrics: CollectedMetrics): CollectedMetrics {
  return metrics.filter(({ type }) => ['counter', 'histogram', 'summary'].includes(String(type)))
}

function countFamily(family: () => Family): Registry {
  const registry = new Registry()
  const registers = [registry]
  new Gauge({
    name: 'countersign_processes',
    help: 'Processes of this node that run.',
    registers,
    collect() {
      this.set(family().running().length)
    },
  })
  new Counter({
    name: 'countersign_process_restarts_total',
    help: 'Processes of this node that ended and were started again.',
    registers,
    collect() {
      this.reset()
      this.inc(family().restarts)
    },
  })
  return registry
}
