/**
 * The failed API calls of one partner that are kept, of both sites, newest first. What was sent is the
 * partner's to read.
 */

import { type KeptRefusedCall, listRefusedCalls } from '../../../partners/refused-calls.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, crumbs, printMoment, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { partnerOf } from '../partners/partner.ts'

/** As many as are kept of a partner at a site. */
const shownEach = 200

export async function showFailedCalls(visit: Visit, operator: Operator) {
  const partner = await partnerOf(visit)
  const home = `/console/partners/${partner.branchId}`
  const sites = await Promise.all(
    environments.map(async (site) => ({
      site,
      calls: await listRefusedCalls(visit.context.db, partner.branchId, site, shownEach),
    })),
  )
  return sendConsole(visit, operator, {
    title: `Failed API calls of ${partner.name}`,
    section: '/console/partners',
    body: html`${crumbs([
      { path: '/console/partners', label: 'Partners' },
      { path: home, label: partner.name },
    ])}
<h1>Failed API calls</h1>
<p>The newest that are kept. The partner reads the same on its own pages, with what was sent and how to fix
  it.</p>
${sites.map(({ site, calls }) => html`<h2>${site === 'live' ? 'Live' : 'Sandbox'}</h2>${printCalls(calls, site)}`)}`,
  })
}

function printCalls(calls: readonly KeptRefusedCall[], site: string): Html {
  if (calls.length === 0) return html`<p class="card empty">No call was refused lately.</p>`
  const rows = calls.map(
    ({ at, method, route, status, code, description, clientId, isClaimed, requestId }) => html`<tr>
<td>${printMoment(at)}</td>
<td>${badge('bad', String(status))}</td>
<td>${method} ${route}</td>
<td class="url"><code>${code}</code> ${description}</td>
<td><code>${clientId ?? '–'}</code>${isClaimed && html`<br><span class="faint">only claimed</span>`}</td>
<td><code>${requestId}</code></td>
</tr>`,
  )
  return table(
    `Failed API calls, ${site}`,
    ['When (UTC)', 'Status', 'Call', 'Why', 'Client', 'Request id'],
    rows,
  )
}
