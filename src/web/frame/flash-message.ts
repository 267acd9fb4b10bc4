/**
 * Every act answers in one way: the page that follows says what was done, with the way back where there is
 * one, or a link to what came of it or comes next. What it says waits in a cookie, sealed for its person and
 * its page, for minutes: no address can put words or buttons on a page.
 */
import type { FastifyReply } from 'fastify'
import { minute } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { Problem } from '../../problem.ts'
import { clearCookie, readCookie, setCookie } from './cookies.ts'
import { type Html, html } from './html.ts'
import { onceField } from './once-field.ts'
import { type Link, notice } from './page.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

/** What a second click finds. Only words of the table are told. */
export function printDone({ query }: Visit, words: Readonly<Record<string, string>>): Html | undefined {
  const { done } = query
  return typeof done === 'string' && Object.hasOwn(words, done) ? notice('success', words[done]) : undefined
}

/** The opposite act: a form of the table, and what it is sent. */
export interface Undo {
  readonly action: string
  readonly fields?: Readonly<Record<string, string | readonly string[]>>
}

/** One of them at least. */
type WayOn =
  | { readonly undo: Undo; readonly link?: Link }
  | { readonly undo?: undefined; readonly link: Link }

export type FlashMessage = { readonly text: string } & WayOn

interface StoredFlash {
  readonly done: FlashMessage
  /** The page that tells of it. */
  readonly at: string
  readonly untilMs: number
}

export const toldMs = 5 * minute

/** Leads to the page that tells of it. */
export function leadToDone(
  visit: Visit,
  visitor: UserSession,
  path: string,
  message: FlashMessage,
): FastifyReply {
  const { context, reply } = visit
  const flash: StoredFlash = {
    done: message,
    at: pathOf(path),
    untilMs: context.clock.now().getTime() + toldMs,
  }
  const sealed = context.vault.seal(purposeOf(context, visitor), JSON.stringify(flash)).toString('base64url')
  setCookie(context, reply, 'told', sealed)
  return reply.redirect(path, 303)
}

/** Once. */
export function printTold(visit: Visit, visitor: UserSession): Html | undefined {
  const flash = findTold(visit, visitor)
  if (!flash) return undefined
  clearCookie(visit.context, visit.reply, 'told')
  const { text, undo, link } = flash.done
  return html`<div class="notice success done" role="status"><p>${text}${
    link &&
    html`
    <a href="${link.path}">${link.label}</a>`
  }</p>${undo && printUndo(undo, visitor)}</div>`
}

function findTold({ context, request, address }: Visit, visitor: UserSession): StoredFlash | undefined {
  const sealed = request.method === 'GET' ? readCookie(context, request, 'told') : undefined
  if (sealed === undefined) return undefined
  const text = context.vault.open(purposeOf(context, visitor), Buffer.from(sealed, 'base64url'))
  const flash = text === undefined ? undefined : (JSON.parse(text) as StoredFlash)
  const isHere = flash?.at === pathOf(address) && flash.untilMs >= context.clock.now().getTime()
  return isHere ? flash : undefined
}

function printUndo({ action, fields = {} }: Undo, { forms }: UserSession): Html {
  const hidden = Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => html`<input type="hidden" name="${name}" value="${value}">`),
  )
  return html`<form method="post"
    action="${action}">${forms.csrfField}${onceField()}${hidden}<button>Undo</button></form>`
}

function pathOf(address: string): string {
  return address.split(/[?#]/)[0]!
}

function purposeOf({ environment }: Context, { session }: UserSession): string {
  return `done:${environment}:${session.user.id}`
}

/** A second click, or another user's id: either way the page then shows what is true. */
export function ignoreAlreadyGone(error: unknown): void {
  if (!(error instanceof Problem && error.status === 404)) throw error
}
