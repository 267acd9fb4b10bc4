/** Snapshots that would remove more than their share: nothing goes before an operator has looked. */
import { listWaitingForYes } from '../../../provisioning/import-review.ts'
import { printAgo } from '../../frame/ago.ts'
import { html } from '../../frame/html.ts'
import type { AttentionKind } from './attention-row.ts'

export const removals: AttentionKind = {
  plural: 'snapshots that wait for a yes',
  all: '/console/imports',
  permission: 'imports.manage',
  async find({ db, now }, most) {
    return (await listWaitingForYes(db, most)).map(({ id, source, missing, known, updatedAt }) => ({
      urgency: 'decide',
      kind: 'Removal',
      title: html`<a href="/console/imports/${id}">Snapshot of ${source}</a>`,
      reason: `It would remove ${missing!.toLocaleString('en')} of ${known!.toLocaleString('en')} records.`,
      since: updatedAt,
      age: html`waits since ${printAgo(updatedAt, now)}`,
      acts: html`<a class="button" href="/console/imports/${id}">Look<span class="unseen"> at import
        ${id}</span></a>`,
    }))
  },
}
