/** What tells one sending of a form from another of the same content (make-once.ts). */
import { randomLetters } from '../../crypto/random.ts'
import { type Html, html } from './html.ts'

export const markLetters = 22

export function onceField(): Html {
  return html`<input type="hidden" name="once" value="${randomLetters(markLetters)}">`
}
