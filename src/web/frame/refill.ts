/**
 * Puts what was typed back into a form that is printed anew, whichever page prints it. It reads the markup of
 * our own pages, where every value is escaped: no attribute holds a `>`, and no text a `<`. Passwords and
 * hidden fields stay as they are printed.
 */
import type { Form } from '../../http/form.ts'
import { escapeHtml } from './html.ts'

/** A form as it was sent. */
export interface FormSubmission {
  /** The path that it was sent to. */
  readonly action: string
  readonly values: Form
}

interface RefillResult {
  readonly body: string
  /** Whether the form has anything to type or to choose: otherwise it is a button. */
  readonly hasFields: boolean
}

/** What is said at the beginning of the form, and the fields that are at fault. */
export interface Remark {
  readonly text: string
  readonly wrong: readonly string[]
}

/** Undefined where the page has no such form, or several of which none is the one. */
export function refill(body: string, submission: FormSubmission, remark?: Remark): RefillResult | undefined {
  const form = findForm(body, submission)
  if (!form) return undefined
  const hasFields = controls(form.inner).some(isTyped)
  const refilled = fillControls(form.inner, submission.values, remark?.wrong ?? [])
  // The page may know better which field comes next: after a wrong password, that one.
  const filled = withoutFocus(refilled) === refilled ? focusFirst(refilled) : refilled
  const said = hasFields ? (remark?.text ?? '') : ''
  const before = withoutFocus(openDetails(body.slice(0, form.start)))
  return { body: before + form.head + said + filled + withoutFocus(body.slice(form.end)), hasFields }
}

interface FormElement {
  readonly start: number
  readonly end: number
  /** Its tag, and what stands in it. */
  readonly head: string
  readonly inner: string
}

const forms = /(<form\b[^<>]*>)([^<]*(?:<(?!\/?form\b)[^<]*)*)<\/form>/g

/** Of several with one action, such as a button in each row, the one with the same hidden fields. */
function findForm(body: string, { action, values }: FormSubmission): FormElement | undefined {
  const found = [...body.matchAll(forms)]
    .filter(
      ([, head]) =>
        attribute(head!, 'method') === 'post' && attribute(head!, 'action') === escapeHtml(action),
    )
    .map(({ index, 0: whole, 1: head, 2: inner }) => ({
      start: index,
      end: index + whole.length - '</form>'.length,
      head: head!,
      inner: inner!,
    }))
  const same = found.filter(({ inner }) => controls(inner).every((control) => isSameHidden(control, values)))
  return same.length === 1 ? same[0] : found.length === 1 ? found[0] : undefined
}

function isSameHidden(tag: string, values: Form): boolean {
  const name = attribute(tag, 'name') ?? ''
  if (attribute(tag, 'type') !== 'hidden' || !Object.hasOwn(values, name)) return true
  return attribute(tag, 'value') === escapeHtml(String(values[name])) || isOfPage(name)
}

const controlTags = /<(?:input|textarea|select)\b[^<>]*>/g

function controls(inner: string): string[] {
  return [...inner.matchAll(controlTags)].map(([tag]) => tag)
}

/** What belongs to one printed page, and is printed anew with the next. */
function isOfPage(name: string): boolean {
  return /^(csrf|once|offer)$/.test(name)
}

/**
 * What is never kept and never put back: a finder could use it. A token that is chosen from a list goes by
 * its number.
 */
export function isSecret(name: string, value: string | readonly string[] = ''): boolean {
  if (/token/i.test(name)) return !/^\d{1,15}$/.test(String(value))
  return isOfPage(name) || /passw|secret|code|credential|recovery|^(current|next|again)$/i.test(name)
}

function isTyped(tag: string): boolean {
  const type = attribute(tag, 'type')
  return type !== 'hidden' && type !== 'password' && !isSecret(attribute(tag, 'name') ?? '')
}

const selects = /(<select\b[^<>]*>)([^<]*(?:<(?!\/?select\b)[^<]*)*)(?=<\/select>)/g

function fillControls(inner: string, values: Form, wrong: readonly string[]): string {
  const places = new Map<string, number>()
  /** Of fields with one name, each has the value at its place. */
  const next = (name: string): string | undefined => {
    const place = places.get(name) ?? 0
    places.set(name, place + 1)
    return allOf(values, name)[place]
  }
  return inner
    .replace(/<input\b[^<>]*>/g, (tag) => (isTyped(tag) ? fillInput(mark(tag, wrong), values, next) : tag))
    .replace(/(<textarea\b[^<>]*>)([^<]*)(?=<\/textarea>)/g, (whole, tag: string) => {
      const value = isTyped(tag) ? next(attribute(tag, 'name') ?? '') : undefined
      return value === undefined ? whole : mark(tag, wrong) + printText(value)
    })
    .replace(selects, (whole, tag: string, options: string) => {
      const name = attribute(tag, 'name') ?? ''
      const value = isTyped(tag) ? next(name) : undefined
      return value === undefined ? whole : mark(tag, wrong) + select(options, value)
    })
}

/** Browsers leave out a line break that begins a text area. */
function printText(value: string): string {
  return (/^\r?\n/.test(value) ? '\n' : '') + escapeHtml(value)
}

function fillInput(tag: string, values: Form, next: (name: string) => string | undefined): string {
  const name = attribute(tag, 'name') ?? ''
  const type = attribute(tag, 'type')
  if (type === 'checkbox' || type === 'radio') {
    const chosen = allOf(values, name).some((each) => escapeHtml(each) === (attribute(tag, 'value') ?? 'on'))
    return withFlag(tag, 'checked', chosen)
  }
  const value = next(name)
  if (value === undefined) return tag
  const printed = `value="${escapeHtml(value)}"`
  const known = /\svalue="[^"]*"/
  return known.test(tag) ? tag.replace(known, () => ` ${printed}`) : add(tag, printed)
}

function select(options: string, value: string): string {
  return options.replace(/<option\b[^<>]*>/g, (tag) =>
    withFlag(tag, 'selected', attribute(tag, 'value') === escapeHtml(value)),
  )
}

/** The remark says what is wrong; the field leads to it. */
function mark(tag: string, wrong: readonly string[]): string {
  if (!wrong.includes(attribute(tag, 'name') ?? '') || attribute(tag, 'aria-invalid') !== undefined)
    return tag
  return add(tag, 'aria-invalid="true"')
}

/** A form that is folded away is unfolded, with whatever it is in. */
function openDetails(before: string): string {
  const open: number[] = []
  for (const { 0: tag, index } of before.matchAll(/<details\b[^<>]*>|<\/details>/g)) {
    if (tag.startsWith('</')) open.pop()
    else open.push(index)
  }
  return open.reduceRight(
    (text, index) =>
      text.slice(0, index) +
      text.slice(index).replace(/^<details\b[^<>]*>/, (tag) => withFlag(tag, 'open', true)),
    before,
  )
}

/** The first field that is at fault has the focus, on every page that shows one. */
export function focusFault(body: string): string {
  const found = /<(\w+)\b[^<>]*\saria-invalid="true"/.exec(body)
  if (!found) return body
  // A group takes no focus; the first in it does.
  const at = found[1] === 'fieldset' ? body.indexOf('<input', found.index) : found.index
  return withoutFocus(body.slice(0, at)) + focusFirst(body.slice(at))
}

/** The first field, or else the button. */
function focusFirst(inner: string): string {
  const plain = withoutFocus(inner)
  const fields = [...plain.matchAll(controlTags)].filter(([tag]) => attribute(tag, 'type') !== 'hidden')
  const first = fields[0] ?? /<button\b[^<>]*>/.exec(plain)
  if (!first) return plain
  return plain.slice(0, first.index) + add(first[0], 'autofocus') + plain.slice(first.index + first[0].length)
}

function withoutFocus(text: string): string {
  return text.replaceAll(/(<[a-z][^<>]*?) autofocus(?=[\s>])/g, '$1')
}

function allOf(values: Form, name: string): readonly string[] {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? [] : [value].flat()
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
}

function withFlag(tag: string, flag: string, isOn: boolean): string {
  const without = tag.replace(new RegExp(`\\s${flag}(?=[\\s>])`), '')
  return isOn ? add(without, flag) : without
}

function add(tag: string, attribute: string): string {
  return tag.replace(/\/?>$/, ` ${attribute}>`)
}
