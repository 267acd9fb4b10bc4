/** What a check found: one line, and when it is not well, a second one that says what to do. */
export type Finding =
  | { readonly state: 'ok' | 'skipped'; readonly found: string }
  | { readonly state: 'warn' | 'fail'; readonly found: string; readonly advice: string }

export type Result = { readonly check: string } & Finding

/** A finding, and what later checks may build on: nothing when it is not there. */
export interface Answer<Value = undefined> {
  readonly finding: Finding
  readonly value?: Value
}

export function ok(found: string): Finding {
  return { state: 'ok', found }
}

export function warn(found: string, advice: string): Finding {
  return { state: 'warn', found, advice }
}

export function fail(found: string, advice: string): Finding {
  return { state: 'fail', found, advice }
}

/** The one of three that a measure deserves. */
export function grade(
  measure: number,
  limit: { readonly warn: number; readonly fail: number },
  found: string,
  advice: string,
): Finding {
  if (measure >= limit.fail) return fail(found, advice)
  return measure >= limit.warn ? warn(found, advice) : ok(found)
}

export function printDuration(ms: number): string {
  const seconds = Math.abs(ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(2)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
