/** Whether the audit log is as it was written: a verification of its chain, watched while it runs. */
import type { AnchorReport } from '../../../audit/anchor-check.ts'
import type { AuditEntry } from '../../../audit/audit.ts'
import { type ChainHead, parseHead, printHead } from '../../../audit/block.ts'
import { type CheckState, logSubject } from '../../../audit/chain-check.ts'
import { searchEntries } from '../../../audit/entry-search.ts'
import { findPublicKey } from '../../../audit/head-signer.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { notice, printDate } from '../../frame/page.ts'
import { badge, crumbs, facts, printMoment, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'

const chainPage = '/console/audit/chain'
const earlierShown = 10

/** Sent twice it is one verification: the second joins the first. */
export async function startVerification(
  visit: Visit,
  operator: Operator,
  { values }: Submission<typeof forms.verifyChain>,
) {
  const typed = values.anchor.trim()
  const anchor: ChainHead | undefined = typed === '' ? undefined : parseHead(typed)
  const began = visit.context.chainCheck.start(operator.act, anchor)
  const text = began ? 'The verification has begun.' : 'A verification was running already: this is it.'
  return leadToDone(visit, operator, chainPage, {
    text,
    link: { path: '/console/audit', label: 'Audit log' },
  })
}

export async function showChain(visit: Visit, operator: Operator) {
  const print = () => printState(visit)
  if (asksForStream(visit.request)) return streamPart(visit, operatorWatcher(visit, operator), print)
  // A form that was refused has no address that a stream could ask for.
  const live = !operator.forms.isReturned
  const part = await print()
  const key = await findPublicKey(visit.context.db, visit.context.vault)
  return sendConsole(visit, operator, {
    title: 'Verify the chain',
    section: '/console/audit',
    live,
    body: html`${crumbs([{ path: '/console/audit', label: 'Audit log' }])}
<h1>Verify the chain</h1>
<section class="card">
<p>Every entry is in a block, and the hash of a block covers its entries and the block before it.
  Walking the whole chain shows whether an entry was changed, removed or slipped in.
Keep the head that it finds somewhere else: as an anchor it proves later that nothing before it was rewritten,
  not even by somebody who computed every hash anew.</p>
${operator.forms.print(
  forms.verifyChain,
  {},
  (view) => html`${view.field('anchor')}${view.button('Verify', { look: 'primary' })}`,
)}
${
  key !== undefined &&
  html`<p>Evidence that was exported with proof is checked by the public key of this log,
  which you publish: <code>${key}</code></p>`
}</section>
${live ? livePart(visit, part) : part}`,
  })
}

async function printState({ context }: Visit): Promise<Html> {
  const { entries } = await searchEntries(
    context.db,
    { subject: logSubject, actions: ['audit.verified'] },
    undefined,
    {
      most: earlierShown,
    },
  )
  return html`<section class="card"><h2>On this node</h2>${printCheck(context.chainCheck.state())}</section>
<h2>Verifications on all nodes</h2>
${printEarlier(entries)}`
}

function printCheck(state: CheckState): Html {
  if (state.kind === 'none') return html`<p class="empty">None has run here since the node was started.</p>`
  if (state.kind === 'running') return printProgress(state)
  if (state.kind === 'failed')
    return html`${notice('error', 'It could not be finished; the log of this node says why. Nothing is known about the chain. A very large log is verified by "countersign audit verify".')}
${facts([['Began', printDate(state.startedAt)]])}`
  const anchors = state.anchors.map(({ anchor, contained }) =>
    contained
      ? notice('success', html`The chain goes through the anchor <code>${anchor}</code>.`)
      : notice(
          'error',
          html`The chain does not contain the anchor
            <code>${anchor}</code>: entries up to it were removed or rewritten.`,
        ),
  )
  const written = printWritten(state.written)
  if (state.kind === 'broken')
    return html`${notice('error', `The chain is broken at block ${state.position}: ${state.problem}.`)}${anchors}${written}
${facts([['Ended', printDate(state.finishedAt)]])}`
  const isCut = state.written !== undefined && state.written.problems.length > 0
  return html`${isCut ? undefined : notice('success', 'The chain is intact.')}${anchors}${written}
${facts([
  ['Entries', state.entries.toLocaleString('en')],
  ['Head, to keep', html`<code>${printHead(state.head)}</code>`],
  ['Ended', printDate(state.finishedAt)],
])}`
}

function printWritten(report: AnchorReport | undefined): Content {
  if (!report) return html`<p class="small">This node has no file of anchors to compare with.</p>`
  const { anchors, newest, problems } = report
  if (problems.length > 0) return problems.map((problem) => notice('error', `${problem}.`))
  return html`<p class="small">It goes through
    ${anchors === 1 ? 'the one anchor' : `all ${anchors.toLocaleString('en')} anchors`} that this node wrote
    down${newest && html`, the newest at ${newest.at}`}.</p>`
}

function printProgress({ startedAt, position, blocks }: CheckState & { kind: 'running' }): Html {
  const words = `Block ${position.toLocaleString('en')} of ${blocks.toLocaleString('en')}`
  return html`<p>${words}</p><progress aria-label="Blocks verified" max="${Math.max(1, blocks)}"
    value="${position}"></progress>
${facts([['Began', printDate(startedAt)]])}`
}

/** A chain that lacks an anchor is intact by itself, and was rewritten all the same. */
function printFinding({ intact, missingAnchors, problems }: AuditEntry['details']): Html {
  if (intact !== true) return badge('bad', 'broken')
  if (Array.isArray(problems) && problems.length > 0)
    return html`${badge('bad', 'cut or rewritten')} ${problems.join('; ')}`
  const missing = Array.isArray(missingAnchors) ? missingAnchors.map(String) : []
  if (missing.length === 0) return badge('good', 'intact')
  return html`${badge('bad', 'anchor missing')} ${missing.map((anchor) => html`<code>${anchor}</code> `)}`
}

function printEarlier(entries: readonly AuditEntry[]): Html {
  if (entries.length === 0)
    return html`<p class="card empty">No verification from the console is recorded.</p>`
  const rows = entries.map(
    ({ at, actor, details }) => html`<tr>
<td>${printMoment(at)}</td>
<td><code>${actor}</code></td>
<td>${printFinding(details)}</td>
<td class="url">${details.intact === true ? html`<code>${String(details.head)}</code>` : `block ${details.position}: ${details.problem}`}</td>
</tr>`,
  )
  return table('Verifications', ['When (UTC)', 'Who', 'Found', 'Head'], rows)
}
