/** What /openapi.json says in words has code in backticks, as Markdown does; pages show it as code. */
import { type Html, html } from '../../frame/html.ts'

export function printWords(text: string): Html {
  const parts = text.split('`')
  return html`${parts.map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
