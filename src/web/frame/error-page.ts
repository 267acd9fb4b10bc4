import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Problem, WrongAddress } from '../../problem.ts'
import type { Brand } from '../../vocabulary/brand.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { type Html, html } from './html.ts'
import { pageHeaders, printPage } from './page.ts'

const titles: Record<number, string> = {
  400: 'This request cannot be used',
  401: 'Sign in first',
  403: 'This is not allowed',
  404: 'Page not found',
  405: 'This cannot be done here',
  413: 'Request too large',
  415: 'This cannot be read',
  431: 'Request too large',
  429: 'Please wait a moment',
  503: 'Temporarily unavailable',
}

export function printErrorPage(
  problem: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
  { environment, brand }: { readonly environment: Environment; readonly brand: Brand },
): string {
  reply.headers(pageHeaders())
  const title = titles[problem.status] ?? 'Something went wrong'
  return printPage({
    title,
    environment,
    brand,
    body: html`<section class="card narrow">
<h1>${title}</h1>
<p>${printMessage(problem)}</p>
<p class="small">You can close this page or go back. If you ask for help, mention request
  <code>${request.id}</code> (${problem.status}, <code>${problem.code}</code>).</p>
</section>`,
  })
}

function printMessage(problem: Problem): Html {
  if (!(problem instanceof WrongAddress)) return html`${problem.message}`
  const [before] = problem.message.split(problem.address)
  return html`${before}<a href="${problem.address}">${problem.address}</a>`
}
