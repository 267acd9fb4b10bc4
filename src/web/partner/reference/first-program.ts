/**
 * The first program in the partner's language, with its own ids, and the command that shows events in a
 * terminal. Secrets come from the environment, never from the page.
 */
import { copyBlock, copyLine } from '../../frame/copy.ts'
import { type Html, html } from '../../frame/html.ts'
import { facts } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import type { Progress } from '../frame/progress.ts'
import { type QuickStartValues, quickStarts } from './quick-starts.ts'

const slugOf = (language: string) => language.toLowerCase()

/** In one language at a time; which, the address remembers. */
export function printFirstProgram(
  { context, query }: Visit,
  { home, partner }: Member,
  { clients: [client], webhooks: [webhook] }: Progress,
): Html {
  const chosen = quickStarts.find((each) => slugOf(each.language) === query.language) ?? quickStarts[0]!
  const { baseUrl } = context
  const quick = { baseUrl, clientId: client?.id ?? 'YOUR_CLIENT_ID', branchId: partner.branchId }
  const tabs = quickStarts.map(
    (each) =>
      html`<a href="${home}?language=${slugOf(each.language)}#quick-start"${
        each === chosen &&
        html`
        aria-current="page"`
      }>${each.language}</a>`,
  )
  const { start, look, verify } = chosen
  return html`<section class="card" id="quick-start"><h2>Quick start</h2>
${facts([
  ['Branch id', copyLine('the branch id', partner.branchId)],
  ['Client id', client ? copyLine('the client id', client.id) : 'none yet'],
  ['Webhook id', webhook && copyLine('the webhook id', webhook.id)],
])}
<h3>Watch events in a terminal</h3>
<p class="small">Prints each event, and forwards it, signed, to a program on your machine.</p>
${copyBlock('the command', printListen(quick))}
<nav class="tabs" aria-label="Language">${tabs}</nav>
<h3>Register a webhook and send a test</h3>
${copyBlock('the program', start(quick))}
${webhook && html`<h3>See what became of it</h3>${copyBlock('the request', look(quick, webhook.id))}`}
${verify !== undefined && html`<h3>Verify what arrives</h3>${copyBlock('the check', verify)}`}
<p class="small">The <a href="${home}/reference">reference</a> has everything else.</p></section>`
}

function printListen({ baseUrl, clientId }: QuickStartValues): string {
  return `# export COUNTERSIGN_CLIENT_SECRET=…
npx countersign listen --url ${baseUrl} --client-id ${clientId} \\
  --forward-to http://localhost:3000/hooks
`
}
