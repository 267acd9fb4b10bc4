/** What a scope lets an application do, as account holders read it wherever it is shown. */
import type { Scope } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { type Html, html } from '../frame/html.ts'

export function printScope(scope: Scope, below?: Html): Html {
  const { title, text, movesMoney } = scopeWords[scope]
  const badge = movesMoney && html`<span class="badge">moves money</span>`
  return html`<li${movesMoney && html` class="money"`}><strong>${title}</strong> ${badge}<br>${text}${below}</li>`
}
