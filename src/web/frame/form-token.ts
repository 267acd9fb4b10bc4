/**
 * Every form carries a token derived from a cookie that only this browser holds: the session when there is
 * one, the visit before sign-in. A form sent from another site is refused even earlier, by what the browser
 * says of its origin. Behind the token stands, sealed, whom the form was printed for: it allows nothing, but
 * says whose a form is that came too late.
 */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { equalBytes, hmacSha256 } from '../../crypto/hash.ts'
import type { Form } from '../../http/form.ts'
import { Forbidden } from '../../problem.ts'

export function issueFormToken(secret: string, mark?: string): string {
  const token = hmacSha256(Buffer.from(secret), 'form').toString('base64url')
  return mark === undefined ? token : `${token}.${mark}`
}

const purposeOf = ({ environment }: Context) => `form-owner:${environment}`

export function markOwner(context: Context, userId: string): string {
  return context.vault.seal(purposeOf(context), userId).toString('base64url')
}

/**
 * The user that the form was printed for, whatever became of their session; undefined for a form that no page
 * of ours printed for a user, or that comes from elsewhere.
 */
export function findOwner(context: Context, request: FastifyRequest): string | undefined {
  const { csrf } = (request.body ?? {}) as Form
  const mark = typeof csrf === 'string' && !isForeign(request) ? csrf.split('.')[1] : undefined
  return mark === undefined
    ? undefined
    : context.vault.open(purposeOf(context), Buffer.from(mark, 'base64url'))
}

/** Refuses a form that no page printed for this browser. */
export function checkFormToken(request: FastifyRequest, secret: string | undefined): void {
  refuseForeignOrigin(request)
  const { csrf } = (request.body ?? {}) as Form
  const presented = typeof csrf === 'string' ? csrf.split('.')[0] : undefined
  const expected = secret === undefined ? undefined : issueFormToken(secret)
  if (
    presented === undefined ||
    expected === undefined ||
    !equalBytes(Buffer.from(presented), Buffer.from(expected))
  ) {
    throw outOfDate()
  }
}

export class StaleForm extends Forbidden {}

export function outOfDate(): StaleForm {
  return new StaleForm('This form is out of date. Go back, load the page again and repeat what you did.')
}

/**
 * Our pages withhold the referrer, so browsers send `Origin: null` for our own forms; a foreign origin is
 * spelled out.
 */
export function refuseForeignOrigin(request: FastifyRequest): void {
  if (isForeign(request)) throw new Forbidden('This form was sent from another site.')
}

function isForeign(request: FastifyRequest): boolean {
  const { origin } = request.headers
  const own = `${request.protocol}://${request.host}`
  const site = request.headers['sec-fetch-site']
  const foreignSite = site !== undefined && site !== 'same-origin' && site !== 'none'
  const foreignOrigin = origin !== undefined && origin !== 'null' && origin !== own
  return foreignSite || foreignOrigin
}
