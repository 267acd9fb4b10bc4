/**
 * How long ago something was, in its largest unit: a reader who needs the moment finds it behind the words.
 */
import { day, hour, minute } from '../../clock.ts'
import { type Html, html } from './html.ts'
import { tellSeconds } from './moment.ts'

/** `3 min`, `5 h`, `12 d`; undefined for less than a minute. */
export function printAge(ms: number): string | undefined {
  if (ms < minute) return undefined
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  return ms < 2 * day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} d`
}

export function printAgo(at: Date, now: Date): Html {
  const age = printAge(now.getTime() - at.getTime())
  return printTime(at, age === undefined ? 'just now' : `${age} ago`, html` data-ago`)
}

export function printUntil(at: Date, now: Date): Html {
  const left = printAge(at.getTime() - now.getTime())
  return printTime(at, left === undefined ? 'now' : `in ${left}`, html` data-until`)
}

function printTime(at: Date, words: string, kind: Html): Html {
  const iso = at.toISOString()
  return html`<time datetime="${iso}" title="${tellSeconds(at)}"${kind}>${words}</time>`
}
