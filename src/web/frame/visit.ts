/** What a page or a form is handed, and what it reads from its address. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import { NotFound } from '../../problem.ts'
import type { FormDefinition, TypedForm } from './form.ts'
import type { ReturnedForm } from './page-forms.ts'

export interface Visit {
  readonly context: Context
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Of the page that is shown: of this request, or of the page that holds the form that it sends. */
  readonly address: string
  /** What that address asks. */
  readonly query: Form
  /** The form that this request sends. */
  readonly form?: FormDefinition
  /** The same, as its user typed it. */
  readonly sent?: TypedForm
  /** A form that the page shows again, because it was refused. */
  readonly returned?: ReturnedForm
}

type Params = Readonly<Record<string, string>>

export function paramsOf(request: FastifyRequest): Params {
  return request.params as Params
}

/** An id from the address; what cannot be one is not there. */
export function idOf(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) throw new NotFound()
  return Number(text)
}
