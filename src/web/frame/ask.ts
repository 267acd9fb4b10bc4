/**
 * An act that cannot be taken back, or takes something from a person, asks first: what will happen, and from
 * an operator why. The question unfolds where its button is, without script.
 */
import type { FastifyRequest } from 'fastify'
import type { Form } from '../../http/form.ts'
import { Invalid } from '../../problem.ts'
import { findTextProblem } from '../../text/name.ts'
import { reasonMaxCharacters } from './field-lengths.ts'
import { type Content, type Html, html } from './html.ts'
import { csrfField } from './page.ts'

interface Question {
  readonly action: string
  readonly csrf: string
  readonly fields?: Readonly<Record<string, string | number>>
  /** What opens the question, and does it: such as `Revoke`. */
  readonly label: string
  /** What it is done to, for people who use a screen reader. */
  readonly of?: string
  /** What will happen. */
  readonly text: Content
  /** More to fill in. */
  readonly more?: Content
  /** Kept in the audit log: the gate `withReason` asks for it. */
  readonly why?: true
  /** It takes nothing from any person. */
  readonly isGift?: true
}

export function askFirst({ action, csrf, fields = {}, label, of, text, more, why, isGift }: Question): Html {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  const reason = html`<label>Reason<textarea name="reason" rows="2" required
    maxlength="${reasonMaxCharacters}"></textarea><span class="small">Kept in the audit log.</span></label>`
  const unseen = of !== undefined && html`<span class="unseen"> ${of}</span>`
  return html`<details class="ask${isGift && ' gift'}"><summary>${label}${unseen}</summary><form method="post"
    action="${action}">${csrfField(csrf)}${hidden}<p>${text}</p>${more}${why && reason}<button
    class="${isGift ? 'primary' : 'danger'}">${label}${unseen}</button></form></details>`
}

/** Of a question that asks why. */
export function readWhy(request: FastifyRequest): string {
  const { reason } = (request.body ?? {}) as Form
  const given = [reason ?? ''].flat()[0]!.trim().replaceAll('\r\n', '\n')
  const problem = Array.isArray(reason)
    ? 'was sent more than once'
    : findTextProblem(given, reasonMaxCharacters)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
  return given
}
