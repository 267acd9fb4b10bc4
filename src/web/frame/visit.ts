/** What a page or a form is handed, and what it reads from its address. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { NotFound } from '../../problem.ts'

export interface Visit {
  readonly context: Context
  readonly request: FastifyRequest
  readonly reply: FastifyReply
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
