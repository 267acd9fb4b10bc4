/** The fields of forms, each with its label, its hint, and beside it what is wrong with what was typed. */
import { Problem } from '../../problem.ts'
import { type Content, type Html, html } from './html.ts'
import { notice } from './page.ts'

/** What was typed and what is wrong with it. */
export interface Draft {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly problem?: Problem | undefined
}

export const emptyDraft: Draft = { values: {} }

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint?: Content
  /** Attributes of the input, such as `required`. */
  readonly more?: Html
}

export function textField(draft: Draft, { name, label, hint, more }: Field): Html {
  const attributes = describedBy(draft, name, hint)
  const input = html`<input id="${name}" name="${name}" value="${draft.values[name] ?? ''}"${
    more &&
    html`
    ${more}`
  }${attributes}>`
  return html`<div class="field"><label
    for="${name}">${label}</label>${input}${printNotes(draft, name, hint)}</div>`
}

export function longField(draft: Draft, { name, label, hint, more }: Field): Html {
  const attributes = describedBy(draft, name, hint)
  const area = html`<textarea id="${name}" name="${name}" rows="4"${
    more &&
    html`
    ${more}`
  }${attributes}>${draft.values[name] ?? ''}</textarea>`
  return html`<div class="field"><label
    for="${name}">${label}</label>${area}${printNotes(draft, name, hint)}</div>`
}

export interface Choice {
  readonly value: string
  readonly label: string
}

/** One of these words, or none. */
export function anyOf(words: readonly string[]): Choice[] {
  return [any, ...words.map((value) => ({ value, label: value }))]
}

export const any: Choice = { value: '', label: 'any' }

export function choiceField(draft: Draft, { name, label, hint }: Field, choices: readonly Choice[]): Html {
  const options = choices.map(
    (each) =>
      html`<option value="${each.value}"${
        each.value === (draft.values[name] ?? '') &&
        html`
        selected`
      }>${each.label}</option>`,
  )
  const select = html`<select id="${name}"
    name="${name}"${describedBy(draft, name, hint)}>${options}</select>`
  return html`<div class="field"><label
    for="${name}">${label}</label>${select}${printNotes(draft, name, hint)}</div>`
}

/** Several of a few. */
export function ticks(
  draft: Draft,
  { name, label, hint }: Field,
  choices: readonly Choice[],
  ticked: readonly string[],
): Html {
  const boxes = choices.map(
    (each) =>
      html`<label class="tick"><input type="checkbox" name="${name}"
        value="${each.value}"${
          ticked.includes(each.value) &&
          html`
        checked`
        }><span>${each.label}</span></label>`,
  )
  return html`<fieldset${describedBy(draft, name, hint)}><legend>${label}</legend>${boxes}${printNotes(draft, name, hint)}</fieldset>`
}

/** What is wrong with no field of the form in particular. */
export function formNotice({ problem }: Draft, ...fields: readonly string[]): Html | undefined {
  if (!problem) return undefined
  const elsewhere = problem.fields?.filter(({ field }) => !fields.includes(field)) ?? []
  if (problem.fields && elsewhere.length === 0)
    return notice('error', 'Nothing was changed. See what is marked below.')
  return notice('error', problem.message)
}

/** What the act is refused for, as a value; whatever is not the visitor's fault is thrown on. */
export async function findProblem(act: () => Promise<unknown>): Promise<Problem | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof Problem && error.status < 500 && error.status !== 404) return error
    throw error
  }
}

function problemOf({ problem }: Draft, name: string): string | undefined {
  return problem?.fields?.find(({ field }) => field === name)?.problem
}

function describedBy(draft: Draft, name: string, hint: Content): Html | undefined {
  const wrong = problemOf(draft, name) !== undefined
  const ids = [wrong && `${name}-problem`, hint && `${name}-hint`].filter((id) => id)
  if (ids.length === 0) return undefined
  return html`${wrong && html` aria-invalid="true"`} aria-describedby="${ids.join(' ')}"`
}

function printNotes(draft: Draft, name: string, hint: Content): Html {
  const wrong = problemOf(draft, name)
  return html`${
    wrong !== undefined &&
    html`<p class="problem"
    id="${name}-problem">${sentence(wrong)}</p>`
  }${
    hint &&
    html`<p class="hint"
    id="${name}-hint">${hint}</p>`
  }`
}

/** `must have 8 characters` → `It must have 8 characters.` */
function sentence(problem: string): string {
  return `It ${problem}.`
}

/** A field without a draft: it brings its value, and what is wrong with that, itself. */
interface LoneField {
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

export function printField(field: LoneField): Html {
  const {
    name,
    label,
    type = 'text',
    value,
    autocomplete,
    maxLength,
    inputMode,
    hint,
    problem,
    focused,
  } = field
  const described = [hint && `${name}-hint`, problem && `${name}-problem`].filter(
    (id) => id !== undefined && id !== '',
  )
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}"${value !== undefined && html` value="${value}"`}
  autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false" required
  maxlength="${maxLength}"${inputMode && html` inputmode="${inputMode}"`}${
    described.length > 0 &&
    html`
  aria-describedby="${described.join(' ')}"`
  }${
    problem !== undefined &&
    html`
  aria-invalid="true"`
  }${focused && html` autofocus`}>
${hint && html`<p class="small" id="${name}-hint">${hint}</p>`}
${problem !== undefined && html`<p class="problem" id="${name}-problem">${problem}</p>`}
</div>`
}
