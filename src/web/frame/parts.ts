/** The small things that many pages show. */
import { type Content, type Html, html } from './html.ts'
import type { Link } from './page.ts'

export function crumbs(links: readonly Link[]): Html {
  const items = links.map(({ path, label }) => html`<li><a href="${path}">${label}</a></li>`)
  return html`<nav aria-label="Where you are"><ol class="crumbs">${items}</ol></nav>`
}

export type Tone = 'good' | 'bad' | 'wait' | 'off'

export function badge(tone: Tone, label: string): Html {
  return html`<span class="state ${tone}">${label}</span>`
}

/** A table that scrolls by itself where the screen is narrow. */
export function table(caption: string, head: readonly Content[], rows: readonly Html[]): Html {
  const heads = head.map((each) => html`<th scope="col">${each}</th>`)
  return html`<div class="scrolls" role="region" aria-label="${caption}" tabindex="0"><table><caption class="unseen">${caption}</caption><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`
}

/** Short, for tables: to the second. */
export function printMoment(date: Date): Html {
  const iso = date.toISOString()
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`
}

export function facts(pairs: readonly (readonly [string, Content])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== false)
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}
