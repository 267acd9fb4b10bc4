/**
 * A form as a page prints it: each field with its label, its hint, what stands in it, and beside it what is
 * wrong with that. The first fault has the focus.
 */
import type { FieldProblem, Problem } from '../../problem.ts'
import { told } from '../../text/html.ts'
import { findTimeZone, type TimeZone, utc } from '../../text/time-zone.ts'
import type { Choice, Field } from './field.ts'
import { allOf, type Fields } from './form.ts'
import { type Content, type Html, html } from './html.ts'
import { isPlain, printLocal } from './moment.ts'

/** What stands in a field before a user types. */
export type StandingValue = string | number | boolean | Date | readonly string[] | undefined | null

/** What was typed into a form, and why it was not taken. */
interface Returned {
  readonly values: Readonly<Record<string, string | string[]>>
  readonly again: readonly string[]
  /** In which moments were typed; empty for UTC. */
  readonly zone: string
  readonly problem?: Problem | undefined
}

interface FieldWords {
  readonly label?: Content
  readonly hint?: Content
  /** More attributes of its tag. */
  readonly more?: Html | false | undefined
  readonly choices?: readonly Choice[]
  readonly isRequired?: boolean
  /** Where nothing on the page was returned. */
  readonly hasFocus?: boolean
}

interface ViewOptions {
  readonly standing?: Readonly<Record<string, StandingValue>> | undefined
  readonly returned?: Returned | undefined
  /** An id that no other element of the page has. */
  readonly idOf?: (name: string) => string
  /** Whether a field may ask for the focus by itself. */
  readonly mayFocus?: boolean
}

const retype = 'Type it again: it was not kept, because it is secret.'
const chooseAgain = 'Choose the file again: it was not kept.'

export class FormView<Named extends Fields = Fields> {
  readonly #fields: Named
  readonly #standing: Readonly<Record<string, StandingValue>>
  readonly #returned: Returned | undefined
  readonly #idOf: (name: string) => string
  readonly #mayFocus: boolean
  readonly #printed = new Set<string>()
  #namesZone = false
  #hasFocus = false

  constructor(
    fields: Named,
    { standing = {}, returned, idOf = (name) => name, mayFocus = true }: ViewOptions,
  ) {
    this.#fields = fields
    this.#standing = standing
    this.#returned = returned
    this.#idOf = idOf
    this.#mayFocus = mayFocus
  }

  /** Of the fields that a user sees, in their order. */
  get fieldNames(): readonly (keyof Named & string)[] {
    return Object.keys(this.#fields).filter((name) => this.#fields[name]!.control !== 'hidden')
  }

  /** What is wrong beside the fields that have been printed. */
  get problemsElsewhere(): readonly FieldProblem[] {
    return this.#returned?.problem?.fields?.filter(({ field }) => !this.#printed.has(field)) ?? []
  }

  get hasOneField(): boolean {
    return this.#printed.size === 1
  }

  get hasPrintedFields(): boolean {
    return this.#printed.size > 0
  }

  /** The text that stands in a field; empty where nothing does. */
  valueOf(name: keyof Named & string): string {
    return this.#allOf(name)[0] ?? ''
  }

  isTicked(name: keyof Named & string, value: string): boolean {
    return this.#allOf(name).includes(value)
  }

  /** What is wrong with a field, as a sentence. */
  problemOf(name: string): string | undefined {
    const problem = this.#returned?.problem?.fields?.find(({ field }) => field === name)?.problem
    return problem === undefined ? undefined : sentence(problem)
  }

  /** What is asked for again, in words: it was filled in, and is not put back. */
  #againOf(name: string): string | undefined {
    if (!this.#returned?.again.includes(name) || this.problemOf(name) !== undefined) return undefined
    return this.#fields[name]!.control === 'file' ? chooseAgain : retype
  }

  field(name: keyof Named & string, words: FieldWords = {}): Html {
    this.#printed.add(name)
    const field = this.#fields[name]!
    switch (field.control) {
      case 'input':
        return this.#labelled(name, words, (attributes) => {
          const { type = 'text' } = field
          return html`<input${type !== 'text' && html` type="${type}"`}${attributes}>`
        })
      case 'area':
        return this.#labelled(name, words, (attributes) => {
          const value = field.returns === 'again' ? '' : this.valueOf(name)
          // Browsers leave out a line break that begins a text area.
          return html`<textarea rows="4"${attributes}>${value.startsWith('\n') && '\n'}${value}</textarea>`
        })
      case 'select':
        return this.#labelled(name, words, (attributes) => {
          const value = this.valueOf(name)
          const options = (words.choices ?? field.choices).map(
            (each) =>
              html`<option value="${each.value}"${each.value === value && html` selected`}>${each.label}</option>`,
          )
          return html`<select${attributes}>${options}</select>`
        })
      case 'file':
        return this.#labelled(name, words, (attributes) => html`<input type="file"${attributes}>`)
      case 'box':
        return html`<label class="tick"><input type="checkbox" name="${name}" value="yes"${
          this.valueOf(name) !== '' && html` checked`
        }${(words.isRequired ?? field.isRequired) && html` required`}${this.#focus(name, words)}><span>${words.label ?? field.label}</span></label>`
      case 'boxes':
        return this.#boxes(name, words)
      case 'hidden':
        return this.hidden(name)
    }
  }

  /** One box of several; the page says what stands beside it. */
  box(name: keyof Named & string, value: string, label: Content): Html {
    this.#printed.add(name)
    return html`<label class="tick"><input type="checkbox" name="${name}"
      value="${value}"${this.isTicked(name, value) && html` checked`}${this.#focus(name, {})}><span>${label}</span></label>`
  }

  /** What is wrong with something that several fields say together. */
  problem(name: string, of: string): Html | undefined {
    this.#printed.add(name)
    const problem = this.problemOf(name)
    if (problem === undefined) return undefined
    const words = `${of}: ${problem.charAt(0).toLowerCase()}${problem.slice(1)}`
    return html`<p class="problem" id="${this.#idOf(name)}-problem">${words}</p>`
  }

  /** As the page says it, once for each value. */
  hidden(name: keyof Named & string): Html {
    const values = standingValues(this.#standing[name])
    return html`${values.map((value) => html`<input type="hidden" name="${name}" value="${value}">`)}`
  }

  /** Of a form without fields, the button has the focus. */
  button(label: Content, { look, of }: { look?: string; of?: string } = {}): Html {
    const focus = this.#returned && this.#printed.size === 0 && this.#takeFocus()
    return html`<button${look && html` class="${look}"`}${focus && html` autofocus`}>${label}${
      of !== undefined && html`<span class="unseen"> ${of}</span>`
    }</button>`
  }

  #boxes(name: keyof Named & string, words: FieldWords): Html {
    const field = this.#fields[name]!
    const id = this.#idOf(name)
    const { label = field.label, hint = field.hint, choices = field.choices } = words
    const boxes = choices.map((each) => this.box(name, each.value, each.label))
    return html`<fieldset${this.#describe(name, id, hint)}><legend>${label}</legend>${boxes}${this.#notes(name, id, hint)}</fieldset>`
  }

  #labelled(name: keyof Named & string, words: FieldWords, print: (attributes: Html) => Html): Html {
    const field = this.#fields[name]!
    const id = this.#idOf(name)
    const { label = field.label, hint = field.hint, more = field.more, isRequired = field.isRequired } = words
    const isTyped = field.control === 'input' || field.control === 'area'
    const hasValue = field.control === 'input' && field.returns !== 'again'
    const isMoment = field.type === 'datetime-local'
    const value = hasValue && html` value="${isMoment ? this.#localOf(name) : this.valueOf(name)}"`
    const attributes = html` id="${id}" name="${name}"${value}${isTyped && lengthOf(field)}${isRequired && html` required`}${
      more && html` ${more}`
    }${this.#describe(name, id, hint)}${this.#focus(name, words)}`
    const ofZone = isMoment && told((reader) => html` (${this.#zoneFor(reader).name})`)
    return html`<div class="field"><label for="${id}">${label}${ofZone}</label>${print(attributes)}${
      isMoment && this.#zoneField()
    }${this.#notes(name, id, hint)}</div>`
  }

  /**
   * In which the moments of the form are said: the reader's, unless one was typed in another, or stands in an
   * hour that comes twice there.
   */
  #zoneFor(reader: TimeZone): TimeZone {
    if (this.#returned) return findTimeZone(this.#returned.zone) ?? utc
    const standing = Object.values(this.#standing).filter((value) => value instanceof Date)
    return standing.every((at) => isPlain(at, reader)) ? reader : utc
  }

  #localOf(name: string): Content {
    const standing = this.#standing[name]
    const isTyped = this.#returned !== undefined || !(standing instanceof Date)
    return isTyped
      ? this.valueOf(name)
      : told((reader) => html`${printLocal(standing, this.#zoneFor(reader))}`)
  }

  /** Once in a form. */
  #zoneField(): Html | undefined {
    if (this.#namesZone) return undefined
    this.#namesZone = true
    return told((reader) => {
      const zone = this.#zoneFor(reader)
      return html`${zone !== utc && html`<input type="hidden" name="zone" value="${zone.name}">`}`
    })
  }

  #describe(name: string, id: string, hint: Content): Html | undefined {
    const isWrong = this.problemOf(name) !== undefined
    const isAskedAgain = this.#againOf(name) !== undefined
    const ids = [isWrong && `${id}-problem`, isAskedAgain && `${id}-again`, hint && `${id}-hint`].filter(
      (each) => each,
    )
    if (ids.length === 0) return undefined
    return html`${isWrong && html` aria-invalid="true"`} aria-describedby="${ids.join(' ')}"`
  }

  #notes(name: string, id: string, hint: Content): Html {
    const wrong = this.problemOf(name)
    const again = this.#againOf(name)
    return html`${wrong !== undefined && html`<p class="problem" id="${id}-problem">${wrong}</p>`}${
      again !== undefined && html`<p class="problem" id="${id}-again">${again}</p>`
    }${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}`
  }

  #focus(name: string, { hasFocus = false }: FieldWords): Html | undefined {
    const wants = this.#returned ? this.#isNext(name) : hasFocus && this.#mayFocus
    return wants && this.#takeFocus() ? html` autofocus` : undefined
  }

  /** What the user turns to first: what is wrong, or else what is still missing, or else the first field. */
  #isNext(name: string): boolean {
    const isWrong = (each: string) => this.problemOf(each) !== undefined
    const isAskedAgain = (each: string) => this.#againOf(each) !== undefined
    const isMissing = (each: string) => this.#fields[each]!.isRequired && this.#allOf(each).join('') === ''
    const kind = [isWrong, isAskedAgain, isMissing].find((is) => this.fieldNames.some((each) => is(each)))
    return kind === undefined || kind(name)
  }

  #takeFocus(): boolean {
    const isFree = !this.#hasFocus
    this.#hasFocus = true
    return isFree
  }

  /** A box that is not ticked is not sent: of a form that was, what is missing is empty. */
  #allOf(name: string): readonly string[] {
    const field = this.#fields[name]!
    const isPutBack = field.returns === 'back' && this.#returned !== undefined
    const isBox = field.control === 'box' || field.control === 'boxes'
    const values = isPutBack ? allOf(this.#returned!.values, name) : []
    return values.length > 0 || (isPutBack && isBox) ? values : standingValues(this.#standing[name])
  }
}

function standingValues(standing: StandingValue): readonly string[] {
  if (standing === undefined || standing === null || standing === false) return []
  if (standing === true) return ['yes']
  if (standing instanceof Date) return [standing.toISOString()]
  return typeof standing === 'object' ? standing : [String(standing)]
}

/** Browsers let nothing be typed into these but what they are. */
const ofItsKind: readonly unknown[] = ['datetime-local', 'number', 'color']

function lengthOf({ most, type }: Field): Html | undefined {
  return ofItsKind.includes(type) ? undefined : html` maxlength="${most}"`
}

/** `must have 8 characters` → `It must have 8 characters.`; what is a sentence already stays one. */
function sentence(problem: string): string {
  return /^[A-Z]/.test(problem) ? problem : `It ${problem}.`
}
