/**
 * The fields of forms, as values: each says what it is called, what it takes and whether it is a secret. From
 * that it is printed (form-view.ts), read, checked and, unless it is a secret, put back.
 */
import { findNameProblem, findTextProblem } from '../../text/name.ts'
import { type Content, type Html, html } from './html.ts'
import { parseMoment } from './moment.ts'

export interface Choice {
  readonly value: string
  readonly label: string
}

/** One of these words, or none. */
export function anyOf(words: readonly string[]): Choice[] {
  return [any, ...words.map((value) => ({ value, label: value }))]
}

export const any: Choice = { value: '', label: 'any' }

/** How a field is shown; `hidden` is what the page says itself, in words that a user does not see. */
type Control = 'input' | 'area' | 'select' | 'boxes' | 'box' | 'file' | 'hidden'

/**
 * What becomes of a field in a form that is shown again. `back`: it is put back. `again`: the user has to type
 * or to choose it again, and is told so. `key`: it says which of several forms this is. `anew`: the page says
 * it anew.
 */
type Return = 'back' | 'again' | 'key' | 'anew'

export class Wrong {
  readonly problem: string
  constructor(problem: string) {
    this.problem = problem
  }
}

export interface Field<Value = unknown> {
  readonly control: Control
  readonly returns: Return
  readonly label: Content
  readonly hint: Content
  /** More attributes of its tag. */
  readonly more: Html | undefined
  readonly type: InputType | undefined
  readonly isRequired: boolean
  readonly choices: readonly Choice[]
  /** Characters; a line break counts once, as browsers count it. */
  readonly most: number
  /** Of as many values as were sent under its name; moments are meant in the zone that the form names. */
  read(sent: readonly string[], zone?: string): Value | Wrong
}

type InputType =
  | 'text'
  | 'password'
  | 'email'
  | 'url'
  | 'tel'
  | 'number'
  | 'color'
  | 'datetime-local'
  | 'search'

interface Words {
  readonly label: Content
  readonly hint?: Content
  readonly more?: Html
  readonly isRequired?: boolean
}

interface TextWords extends Words {
  readonly most: number
  readonly type?: InputType
}

/** Values that no user types, but a page prints or a browser makes: as long as the head of a request may be. */
export const untypedMost = 16_384

/** A moment, a number or a colour: what browsers send of fields that take nothing else. */
export const mostOfItsKind = 40

const nothing = { hint: undefined, more: undefined, type: undefined, isRequired: false, choices: [] } as const

/** One value as it was typed: browsers send every line break as two characters. */
function readOne(sent: readonly string[]): string | Wrong {
  if (sent.length > 1) return new Wrong('was sent more than once')
  const text = sent[0] ?? ''
  return text.includes('\0') ? new Wrong('must not contain a NUL character') : text.replaceAll('\r\n', '\n')
}

function reading<Value>(parse: (text: string) => Value | Wrong) {
  return (sent: readonly string[]) => {
    const text = readOne(sent)
    return text instanceof Wrong ? text : parse(text)
  }
}

/** Empty where nothing was typed. What else it must be is for the act to say. */
export function text(words: TextWords): Field<string> {
  return { ...nothing, control: 'input', returns: 'back', ...words, read: readOne }
}

export function longText(words: TextWords): Field<string> {
  return { ...text(words), control: 'area' }
}

export function email(words: Partial<TextWords> = {}): Field<string> {
  const of = { label: 'E-mail address', type: 'email', most: 254, isRequired: true } as const
  return text({ ...of, more: html`autocomplete="email" autocapitalize="none" spellcheck="false"`, ...words })
}

/** What something is called, without the spaces around it. */
export function name(words: TextWords): Field<string> {
  const read = reading((typed) => {
    const problem = findNameProblem(typed, words.most)
    return problem === undefined ? typed.trim() : new Wrong(problem)
  })
  return { ...text({ isRequired: true, ...words }), read }
}

/** A password, a code, a key: never kept and never put back, because a finder could use it. */
export function secret(words: TextWords): Field<string> {
  return { ...text({ type: 'password', ...words }), returns: 'again' }
}

/** The same, of several lines. */
export function longSecret(words: TextWords): Field<string> {
  return { ...secret(words), control: 'area' }
}

/** Undefined where nothing was typed. The form says in which zone it is, as its label does. */
export function moment(words: Words): Field<Date | undefined> {
  const read = (sent: readonly string[], zone = '') => {
    const typed = readOne(sent)
    if (typed instanceof Wrong) return typed
    const parsed = typed === '' ? undefined : parseMoment(typed, zone)
    return parsed && 'problem' in parsed ? new Wrong(parsed.problem) : parsed
  }
  return { ...text({ ...words, most: mostOfItsKind, type: 'datetime-local' }), read }
}

/** A whole number from 1 on; undefined where nothing was typed. */
export function number(words: Words): Field<number | undefined> {
  const read = reading((typed) => {
    if (typed.trim() === '') return undefined
    return /^[1-9]\d{0,14}$/.test(typed.trim()) ? Number(typed) : new Wrong('must be a whole number')
  })
  return { ...text({ ...words, most: mostOfItsKind, type: 'number' }), read }
}

/**
 * Why it is done, for the audit log or for the person it is done to. One that is optional is empty where nothing
 * was typed.
 */
export function reason({
  isOptional = false,
  ...words
}: Partial<TextWords> & { isOptional?: boolean } = {}): Field<string> {
  const most = words.most ?? reasonMaxCharacters
  const read = reading((typed) => {
    const given = typed.trim()
    const problem = isOptional && given === '' ? undefined : findTextProblem(given, most)
    return problem === undefined ? given : new Wrong(problem)
  })
  const inLog = { label: 'Reason', hint: 'Kept in the audit log.', most, isRequired: !isOptional }
  return { ...longText({ ...inLog, ...words }), read }
}

const reasonMaxCharacters = 500

/** One of these words. */
export function oneOf<const Word extends string>(
  words: Words & { readonly of: readonly Word[]; readonly choices?: readonly Choice[] },
): Field<Word> {
  const { of, choices = of.map((value) => ({ value, label: value })) } = words
  const read = reading((typed) => of.find((each) => each === typed) ?? new Wrong(`must be ${printWords(of)}`))
  return { ...nothing, control: 'select', returns: 'back', ...words, choices, most: untypedMost, read }
}

/** One of what the page offers; whether it is one of them is for the act to say. Empty where nothing is chosen. */
export function choice(words: Words & { readonly choices?: readonly Choice[] }): Field<string> {
  return { ...nothing, control: 'select', returns: 'back', ...words, most: untypedMost, read: readOne }
}

/** Several of these words, in their order; others are not looked at. */
export function ticks<const Word extends string>(
  words: Words & { readonly of: readonly Word[]; readonly choices?: readonly Choice[] },
): Field<readonly Word[]> {
  const { of, choices = of.map((value) => ({ value, label: value })) } = words
  const read = (sent: readonly string[]) => of.filter((each) => sent.includes(each))
  return { ...nothing, control: 'boxes', returns: 'back', ...words, choices, most: untypedMost, read }
}

/** Several of what the page offers; whether they are of it is for the act to say. */
export function anyTicks(words: Words): Field<readonly string[]> {
  const read = (sent: readonly string[]) =>
    sent.some((each) => each.includes('\0')) ? new Wrong('must not contain a NUL character') : sent
  return { ...nothing, control: 'boxes', returns: 'back', ...words, most: untypedMost, read }
}

export function tick(words: Words): Field<boolean> {
  const read = reading((sent) => sent !== '')
  return { ...nothing, control: 'box', returns: 'back', ...words, most: untypedMost, read }
}

/** The bytes come apart from the form; what is wrong with them is for the act to say. */
export function file(words: Words): Field<string> {
  return { ...nothing, control: 'file', returns: 'again', ...words, most: untypedMost, read: readOne }
}

const unseen = { ...nothing, control: 'hidden', label: '', most: untypedMost } as const

/** Which of several: such as the row of a list that a button stands in. */
export function key(): Field<string> {
  return { ...unseen, returns: 'key', read: readOne }
}

/** The number of one of several. */
export function keyNumber(): Field<number> {
  const read = reading((sent) => (/^\d{1,15}$/.test(sent) ? Number(sent) : new Wrong('must be a number')))
  return { ...unseen, returns: 'key', read }
}

/** What the page that printed the form had shown, such as the version of what is changed. */
export function shown(): Field<string> {
  return { ...unseen, returns: 'anew', read: readOne }
}

/** What the page was asked, said again by the form that acts on it. */
export function asAsked<Value>(field: Field<Value>): Field<Value> {
  return { ...field, control: 'hidden', returns: 'anew' }
}

function printWords(words: readonly string[]): string {
  return words.length === 2 ? words.join(' or ') : `one of ${words.join(', ')}`
}

/** What the questions of an address hold, on every page: more is cut off. */
export const questionCharacters = 300
