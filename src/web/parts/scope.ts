/** What a scope lets an application do, as account holders read it wherever it is shown. */
import type { Scope } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { type Html, html } from '../frame/html.ts'

interface ScopeParts {
  readonly badges?: Html
  readonly below?: Html
  /** Where it can be chosen: the box that its words stand beside. */
  box?(words: Html): Html
}

export function printScope(scope: Scope, { badges, below, box = (words) => words }: ScopeParts = {}): Html {
  const { title, text, movesMoney } = scopeWords[scope]
  const badge = movesMoney && html`<span class="badge">moves money</span>`
  const words = html`<strong>${title}</strong> ${badge}${badges}<br>${text}${below}`
  return html`<li${movesMoney && html` class="money"`}>${box(words)}</li>`
}
