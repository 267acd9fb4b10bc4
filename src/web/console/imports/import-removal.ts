/**
 * What a snapshot would remove, shown before an operator says yes or no: how much, of what, and the first of
 * each kind.
 */
import type { Sql } from '../../../database/database.ts'
import type { Import } from '../../../provisioning/import.ts'
import { describeMissing, type MissingRecord } from '../../../provisioning/import-review.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Operator } from '../../gates/gates.ts'
import { linkTo, type Reader } from '../frame/console.ts'
import { type Offers, printOffer } from '../frame/four-eyes.ts'
import * as forms from './forms.ts'
import { count, importsPage } from './imports.ts'

interface RemovalView {
  readonly operator: Operator
  readonly offers: Offers
  /** A snapshot of the same source that came later. */
  readonly newer: number | undefined
  readonly stop: Html
  /** So much may go without a yes. */
  readonly percent: number
}

export async function printRemoval(sql: Sql, read: Import, view: RemovalView): Promise<Html> {
  const { operator, newer, stop, percent } = view
  const kinds = await describeMissing(sql, read)
  const lists = kinds.map(
    ({ kind, missing, sample }) => html`<h3>${count(missing)} ${nouns[kind][missing === 1 ? 0 : 1]}</h3>
<ul>${sample.map((each) => html`<li>${printRecord(each, operator)}</li>`)}${missing > sample.length && html`<li class="faint">and ${count(missing - sample.length)} more</li>`}</ul>`,
  )
  return html`<section class="card"
    id="removal"><h2>Remove ${count(read.missing!)} of ${count(read.known!)} records?</h2>
<p>This snapshot does not have them. A file that was cut short looks the same,
  so more than ${percent} % of what is known of a source goes only with approval
  (<code>SNAPSHOT_REMOVAL_PERCENT</code>).</p>
<p>Customers who are removed cannot sign in any more; accounts and holdings that are removed leave every
  approval. Only a newer version from ${read.source} brings a record back.</p>
${lists}
${
  newer === undefined
    ? undefined
    : html`<p class="notice error">A newer snapshot of ${read.source} has come
  since: <a href="${importsPage}/${newer}">import ${newer}</a>. Stop this one, and go by that.</p>`
}
<div class="acts">${newer === undefined && printYes(read, view)}${stop}</div></section>`
}

const nouns = {
  customer: ['customer', 'customers'],
  account: ['account', 'accounts'],
  holding: ['holding', 'holdings'],
} as const

function printRecord({ kind, key, name, userId }: MissingRecord, reader: Reader): Html {
  const [customer, account] = key.split(' ')
  if (kind === 'holding') return html`<code>${customer}</code> in <code>${account}</code>`
  if (name === null) return html`<code>${key}</code>`
  return html`<code>${key}</code>
    ${userId === null ? name : linkTo(reader, `/console/users/${userId}`, name)}`
}

function printYes({ id, missing, source }: Import, { operator, offers }: RemovalView): Html {
  const kind = 'import.removal'
  const subject = `import:${id}`
  const label = `Remove ${count(missing!)} records`
  const act = { label, standing: { missing } }
  if (offers.takesTwo(kind) || offers.findWaiting(kind, subject))
    return printOffer(offers, operator, forms.removeMissing, { ...act, kind, subject })
  const text = `${source} has to send a newer version of each to bring it back.`
  return operator.forms.ask(forms.removeMissing, { ...act, text })
}
