/**
 * What all processes have counted, as one. A process that is gone, or does not answer, goes on counting for
 * what it last said: a counter that fell would look to Prometheus as if everything had been counted anew.
 */
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import type { CollectedMetrics } from '../metrics/metrics.ts'
import type { MetricsSource } from '../metrics/server.ts'
import type { Family } from './family.ts'
import type { ChildMessage } from './messages.ts'

/** Less than a scraper would wait. */
const answerTimeoutMs = 2_000

type MetricsMessage = Extract<ChildMessage, { kind: 'metrics' }>

export interface MetricsSum extends MetricsSource {
  hear(child: number, message: MetricsMessage): void
  forget(child: number): void
}

export function openMetricsSum(family: () => Family): MetricsSum {
  const last = new Map<number, CollectedMetrics>()
  let exitedCounts: CollectedMetrics[] = []
  const rounds = new Map<number, { readonly missing: Set<number>; readonly complete: () => void }>()
  const own = countFamily(family)
  let number = 0

  function answered(round: number, child: number): void {
    const asked = rounds.get(round)
    asked?.missing.delete(child)
    if (asked?.missing.size === 0) asked.complete()
  }

  /** The processes that have not answered in time. */
  async function askAll(): Promise<ReadonlySet<number>> {
    const { promise, resolve: complete } = Promise.withResolvers<void>()
    const round = ++number
    const missing = new Set(family().running())
    rounds.set(round, { missing, complete })
    for (const child of [...missing])
      if (!family().say(child, { kind: 'collect', number: round })) answered(round, child)
    if (missing.size === 0) complete()
    const timer = setTimeout(complete, answerTimeoutMs)
    await promise
    clearTimeout(timer)
    rounds.delete(round)
    return missing
  }

  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async print() {
      const silent = await askAll()
      const living = [...last].map(([child, metrics]) => (silent.has(child) ? counts(metrics) : metrics))
      if (exitedCounts.length > 1) exitedCounts = [await add(exitedCounts).getMetricsAsJSON()]
      return add([await own.getMetricsAsJSON(), ...living, ...exitedCounts]).metrics()
    },
    hear(child, { number: round, metrics }) {
      last.set(child, metrics)
      answered(round, child)
    },
    forget(child) {
      const counted = last.get(child)
      last.delete(child)
      if (counted) exitedCounts.push(counts(counted))
      for (const round of rounds.keys()) answered(round, child)
    },
  }
}

function add(collected: readonly CollectedMetrics[]): Registry {
  return AggregatorRegistry.aggregate([...collected])
}

/** What only grows; gauges of a process that is gone are of no use. */
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
