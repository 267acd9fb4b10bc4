/**
 * Text that is there to be copied. The button works where script does (public/copy.js) and is not shown
 * elsewhere; the text can be selected as ever.
 */
import { type Content, type Html, html } from './html.ts'

const button = (what: string) =>
  html`<button type="button" class="copy">Copy<span class="unseen"> ${what}</span></button>`

/** One line: an id, an address. */
export function copyLine(what: string, text: Content): Html {
  return html`<span class="copied"><code>${text}</code>${button(what)}</span>`
}

/** What is shown once. */
export function copySecret(what: string, text: string): Html {
  return html`<p class="copied"><code class="secret">${text}</code>${button(what)}</p>`
}

/** A command or a program. */
export function copyBlock(what: string, text: Content): Html {
  return html`<div class="copied"><pre tabindex="0">${text}</pre>${button(what)}</div>`
}
