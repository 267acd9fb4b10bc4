/** The small things that many pages show. */
import { type Content, escapeHtml, Html, html } from './html.ts'
import { tellSeconds } from './moment.ts'
import type { Link } from './page.ts'

export function crumbs(links: readonly Link[]): Html {
  const items = links.map(({ path, label }) => html`<li><a href="${path}">${label}</a></li>`)
  return html`<nav aria-label="Where you are"><ol class="crumbs">${items}</ol></nav>`
}

export type Tone = 'good' | 'bad' | 'wait' | 'off'

export function badge(tone: Tone, label: string): Html {
  return html`<span class="state ${tone}">${label}</span>`
}

/**
 * A table that scrolls by itself, and on a phone is a card for each row: every cell knows the heading of its
 * column. The roles stay what they are, however it is laid out. A column of moments needs no zone in its
 * heading: each moment names its own.
 */
export function table(caption: string, head: readonly Content[], rows: readonly Html[]): Html {
  const labels = head.map((each) =>
    textOf(each).replace(/ \(UTC\)$/, isOfMoments(rows, head.indexOf(each)) ? '' : '$&'),
  )
  const heads = head.map(
    (each, at) => html`<th role="columnheader" scope="col">${each instanceof Html ? each : labels[at]}</th>`,
  )
  const cards = rows.map((row) => labelCells(row, labels))
  return html`<div class="scrolls" role="region" aria-label="${caption}" tabindex="0"><table
    role="table"><caption class="unseen">${caption}</caption><thead role="rowgroup"><tr
    role="row">${heads}</tr></thead><tbody role="rowgroup">${cards}</tbody></table></div>`
}

const cells = /<(td|th)(?=[\s>])/g

function labelCells(row: Html, labels: readonly string[]): Html {
  return row.rewrite(() => {
    let at = 0
    const label = (start: string, kind: string) => {
      const name = escapeHtml(labels[at++] ?? '')
      return `${start} role="${kind === 'th' ? 'rowheader' : 'cell'}" data-label="${name}"`
    }
    return (text) => text.replace(cells, label).replace(/<tr(?=[\s>])/, '<tr role="row"')
  })
}

function isOfMoments([first]: readonly Html[], at: number): boolean {
  const [, ...contents] = first?.text.split(/<t[dh](?=[\s>])/) ?? []
  return contents[at]?.includes(' data-short>') ?? false
}

function textOf(content: Content): string {
  return html`${content}`.text.replaceAll(/<[^<>]*>/g, '').replaceAll('&amp;', '&')
}

/**
 * What can be done about a row, folded up: links, and forms of one button. On a phone it stands on the row's
 * card.
 */
export function menu(of: string, items: readonly Content[]): Html {
  const shown = items.filter((item) => item !== undefined && item !== false)
  return html`<details class="menu"><summary>Actions<span class="unseen"> for
    ${of}</span></summary><ul>${shown.map((item) => html`<li>${item}</li>`)}</ul></details>`
}

/** Short, for tables: to the second. */
export function printMoment(date: Date): Html {
  const iso = date.toISOString()
  return html`<time datetime="${iso}" title="${iso}" data-short>${tellSeconds(date)}</time>`
}

export function facts(pairs: readonly (readonly [string, Content])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== false)
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}
