/** Whole pages, asked for one after the other: how long each takes. */
import type { Browser } from '../test/support/browser.ts'
import { type Result, withinLimit } from './report.ts'
import { quantile } from './rounds.ts'

const repetitions = 40
const limitMs = 100

/** Paths by what they show. */
export async function measurePages(
  where: string,
  browser: Browser,
  pages: Record<string, string>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const [name, path] of Object.entries(pages)) {
    const p95 = await measureP95(async () => {
      const first = await browser.get(path)
      // A search that finds one thing leads there.
      const { status, text } = first.status === 303 ? await browser.get(first.location!) : first
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    })
    results.push(withinLimit(`${where}, the whole page, ${name}: p95`, p95, limitMs, 'ms'))
  }
  return results
}

export async function measureP95(act: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < repetitions; n++) {
    const started = performance.now()
    await act()
    times.push(performance.now() - started)
  }
  return quantile(times, 0.95)
}

/** A question that is asked in process. */
export async function measureQuestion(name: string, act: () => Promise<unknown>): Promise<Result> {
  return withinLimit(`${name}: p95`, await measureP95(act), limitMs, 'ms')
}
