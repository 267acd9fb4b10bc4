/** A text field with its label, its hint, and beside it what is wrong with what was typed. */
import { type Html, html } from './html.ts'

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'password' | 'email'
  readonly value?: string
  readonly autocomplete: string
  readonly maxLength: number
  readonly inputMode?: 'numeric' | 'text'
  readonly hint?: string
  readonly problem?: string | undefined
  readonly focused?: boolean
}

export function printField(field: Field): Html {
  const { name, label, type = 'text', value, autocomplete, maxLength, inputMode, hint, problem, focused } = field
  const described = [hint && `${name}-hint`, problem && `${name}-problem`].filter((id) => id !== undefined && id !== '')
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}"${value !== undefined && html` value="${value}"`} autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false" required maxlength="${maxLength}"${inputMode && html` inputmode="${inputMode}"`}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}${problem !== undefined && html` aria-invalid="true"`}${focused && html` autofocus`}>
${hint && html`<p class="small" id="${name}-hint">${hint}</p>`}
${problem !== undefined && html`<p class="problem" id="${name}-problem">${problem}</p>`}
</div>`
}
