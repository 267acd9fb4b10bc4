/**
 * A page that shows a form again: one that waited while its owner signed in, one that was refused by what it
 * does, or one in which the page itself found something wrong. What was typed stands in it, and the first
 * fault has the focus. No page does anything for it.
 */
import type { FastifyReply } from 'fastify'
import { Html, html } from './html.ts'
import { findReturned, type RejectedForm, readTyped } from './kept-form.ts'
import { focusFault, isSecret, type Remark, refill } from './refill.ts'

interface PageParts {
  readonly body: Html
  readonly status?: number
}

export function withTyped<Page extends PageParts>(reply: FastifyReply, page: Page): Page {
  const rejected = findReturned(reply)
  if (rejected) return showReturned(page, rejected)
  const { request } = reply
  const isRefused = request.method === 'POST' && (page.status ?? 200) >= 400
  const body = isRefused ? refill(page.body.text, readTyped({ request }))?.body : undefined
  return { ...page, body: new Html(focusFault(body ?? page.body.text)) }
}

function showReturned<Page extends PageParts>(page: Page, rejected: RejectedForm): Page {
  const { problem } = rejected
  const remark = remarkOn(rejected)
  const filled = refill(page.body.text, rejected, remark)
  const before = filled?.hasFields ? '' : filled ? remark.text : printLost(rejected).text
  const body = new Html(before + focusFault(filled?.body ?? page.body.text))
  return { ...page, body, ...(problem && { status: problem.status }) }
}

const notSent = 'Nothing was sent yet: check and send.'

function remarkOn({ problem }: RejectedForm): Remark {
  if (!problem) return { text: waiting(notSent).text, wrong: [] }
  const wrong = problem.fields?.map(({ field }) => field) ?? []
  return { text: html`<p class="notice error" role="alert">${problem.message}</p>`.text, wrong }
}

function waiting(words: string): Html {
  return html`<p class="notice waiting" role="status">${words}</p>`
}

/** The page has no such form any more: what was typed can still be copied. */
function printLost({ values, problem }: RejectedForm): Html {
  const typed = Object.entries(values).filter(([name, value]) => !isSecret(name, value) && value !== '')
  const items = typed.map(([name, value]) => html`<dt>${name}</dt><dd>${[value].flat().join(', ')}</dd>`)
  const words = problem?.message ?? 'Nothing was sent: this page has changed meanwhile.'
  return html`<div class="notice ${problem ? 'error' : 'waiting'}"
    role="${problem ? 'alert' : 'status'}"><p>${words}</p>
${items.length > 0 && html`<details><summary>What you typed</summary><dl>${items}</dl></details>`}</div>`
}
