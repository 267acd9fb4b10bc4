/** The people whom a partner signs in as in the sandbox, with their passwords and what they hold. */
import { type HeldAccount, listOpenAccounts } from '../../../users/account.ts'
import { listTestHolders, type TestHolder } from '../../../users/test-holder.ts'
import { copyLine } from '../../frame/copy.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, facts, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'

export async function showTestHolders(visit: Visit, member: Member) {
  const { db, vault, environment, baseUrl } = visit.context
  const holders = await listTestHolders(db, vault, member.branch.branchId)
  const cards = holders.map(async (each) =>
    printHolder(each, await listOpenAccounts(db, each.id, environment)),
  )
  return sendPortal(visit, member, {
    title: 'Test holders',
    section: '/test-holders',
    scripts: ['copy.js'],
    body: html`<h1>Test holders</h1>
<p>Account holders of the sandbox who are yours to sign in as. Send one of them through your application's
  sign-in and approve it: they can approve ${member.partner.name}'s sandbox clients, and nobody else's. A
  private window keeps your own sign-in here.</p>
<p class="small">They sign in at <strong>${new URL(baseUrl).host}</strong> alone. Nothing about them can be changed,
  so every member and every test finds them the same.</p>
${await Promise.all(cards)}`,
  })
}

function printHolder(
  { name, username, password, status }: TestHolder,
  accounts: readonly HeldAccount[],
): Html {
  return html`<section class="card"><h2>${name} ${status === 'disabled' && badge('bad', 'locked by the brokerage')}</h2>
${facts([
  ['Username', copyLine(`the username of ${name}`, username)],
  ['Password', copyLine(`the password of ${name}`, password)],
])}
${table(`Accounts of ${name}`, ['Account', 'Kind', 'Held as', 'With'], accounts.map(printAccount))}</section>`
}

function printAccount({ accountNumber, classification, type, role, owners }: HeldAccount): Html {
  return html`<tr><td><code>${accountNumber}</code></td><td>${classification.replaceAll('_', ' ')}, ${type}</td><td>${role}</td>
<td>${owners.length === 0 ? '–' : owners.join(' and ')}</td></tr>`
}
