/**
 * A form is a value: the path it is sent to and its fields. The table of routes takes it by that value, the
 * page prints it by that value, and nothing else knows what is in it.
 */
import type { FastifyRequest } from 'fastify'
import type { Form } from '../../http/form.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'
import { type Field, untypedMost, Wrong } from './field.ts'

export type Fields = Readonly<Record<string, Field>>

export interface FormDefinition<Named extends Fields = Fields> {
  readonly path: string
  readonly fields: Named
  /** It makes something new: however often it is sent, there is one of it (make-once.ts, or a constraint). */
  readonly makes: boolean
  /** It brings files along, of so many bytes at most; 0 for one that brings none. */
  readonly takesFiles: number
  /**
   * The page that it is on, where that is not the nearest above it; with what its address asks, by fields of
   * the form: `/partner/:branch/test?kind=:type`.
   */
  readonly heldBy: string | undefined
}

interface FormOptions {
  readonly makes?: true
  readonly takesFiles?: number
  readonly heldBy?: string
}

export function defineForm<Named extends Fields>(
  path: string,
  fields: Named,
  { makes, takesFiles = 0, heldBy }: FormOptions = {},
): FormDefinition<Named> {
  return { path, fields, makes: makes === true, takesFiles, heldBy }
}

/** A form of a button alone. */
export function defineButton(path: string, options: FormOptions = {}): FormDefinition<object & Fields> {
  return defineForm(path, {}, options)
}

export type ValuesOf<Named extends Fields> = {
  readonly [Name in keyof Named]: Named[Name] extends Field<infer Value> ? Value : never
}

/** A form as a handler takes it: `Submission<typeof createToken>`. */
export interface Submission<Defined> {
  readonly values: Defined extends FormDefinition<infer Named> ? ValuesOf<Named> : never
  /** All of it, in the order it came: the same form sent again is the same text. */
  readonly text: string
  /** Of a form that makes something: what tells it from another of the same content. */
  readonly once: string
}

/** All faults at once. */
export function readSubmission<Named extends Fields>(
  { fields }: FormDefinition<Named>,
  body: Form,
): Submission<FormDefinition<Named>> {
  const { values, problems } = readFields(fields, body)
  const [once = '', ...others] = allOf(body, 'once')
  if (others.length > 0) problems.push({ field: 'once', problem: 'was sent more than once' })
  if (problems.length > 0) throw new Invalid(problems)
  return { values, text: JSON.stringify(body), once }
}

/** Of a form that says why. */
export function readReason(form: FormDefinition | undefined, body: unknown): string {
  const field = form?.fields.reason
  if (!field) throw new Error(`${form?.path} has no field for the reason`)
  const value = field.read(allOf((body ?? {}) as Form, 'reason'))
  if (value instanceof Wrong) throw new Invalid([{ field: 'reason', problem: value.problem }])
  return String(value)
}

/** What is wrong is left out of the values. */
export function readFields<Named extends Fields>(
  fields: Named,
  body: Form,
): { values: ValuesOf<Named>; problems: FieldProblem[] } {
  const problems: FieldProblem[] = []
  const pairs = Object.entries<Field>(fields).flatMap(([name, field]): [string, unknown][] => {
    const value = field.read(allOf(body, name), zoneOf(body))
    if (!(value instanceof Wrong)) return [[name, value]]
    problems.push({ field: name, problem: value.problem })
    return []
  })
  return { values: Object.fromEntries(pairs) as ValuesOf<Named>, problems }
}

/** The zone in which moments of the form were typed; empty for UTC. */
export function zoneOf(form: Form): string {
  return allOf(form, 'zone')[0] ?? ''
}

export function allOf(form: Form, name: string): readonly string[] {
  const value = Object.hasOwn(form, name) ? form[name] : undefined
  return value === undefined ? [] : [value].flat()
}

/** Each field that holds more than it may: a form is not looked at further. */
export function findLongFields({ fields }: FormDefinition, body: Form): FieldProblem[] {
  return Object.entries(body).flatMap(([name, values]) => {
    const most = (Object.hasOwn(fields, name) ? fields[name]?.most : undefined) ?? untypedMost
    const isLong = [values]
      .flat()
      .some((value) => value.length > most && value.replaceAll('\r\n', '\n').length > most)
    return isLong
      ? [{ field: name, problem: `must have at most ${most.toLocaleString('en')} characters` }]
      : []
  })
}

/** What a user typed into a form, without what is secret. */
export interface TypedForm {
  /** Of the form. */
  readonly path: string
  /** The address that it was sent to. */
  readonly action: string
  readonly values: Form
  /** In which its moments were typed; empty for UTC. */
  readonly zone: string
  /** Which of several forms it is. */
  readonly keys: Form
  /** Fields that were filled in and are not put back. */
  readonly again: readonly string[]
}

export function readTyped({ path, fields }: FormDefinition, request: FastifyRequest): TypedForm {
  const body = (request.body ?? {}) as Form
  const isFilled = (name: string) =>
    allOf(body, name).some((value) => value !== '') || (request.files?.get(name)?.length ?? 0) > 0
  const named = Object.entries(fields)
  const sent = (kind: Field['returns']) =>
    named.filter(([name, { returns }]) => returns === kind && Object.hasOwn(body, name)).map(([name]) => name)
  const valuesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, body[name]!]))
  return {
    path,
    action: request.url.split('?')[0]!,
    values: valuesOf(sent('back')),
    zone: zoneOf(body),
    keys: valuesOf(sent('key')),
    again: named.filter(([name, { returns }]) => returns === 'again' && isFilled(name)).map(([name]) => name),
  }
}
