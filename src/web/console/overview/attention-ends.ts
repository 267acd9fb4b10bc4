/** What ends soon, or should have ended: certificates, client secrets in use, keys of before a rotation. */
import { X509Certificate } from 'node:crypto'
import { searchEntries } from '../../../audit/entry-search.ts'
import { day } from '../../../clock.ts'
import { limits } from '../../../doctor/limits.ts'
import { listEndingSecrets } from '../../../partners/attention.ts'
import { printAgo, printUntil } from '../../frame/ago.ts'
import { html } from '../../frame/html.ts'
import type { AttentionKind } from './attention-row.ts'

/** Of this node; another may have another file. */
export const certificates: AttentionKind = {
  plural: 'certificates',
  all: '/console/settings',
  permission: 'settings.see',
  async find({ config, now }) {
    if (!config.tls) return []
    const { validToDate: endsAt, subjectAltName = 'the certificate' } = new X509Certificate(config.tls.cert)
    const days = (endsAt.getTime() - now.getTime()) / day
    const { warnDays, failDays } = limits.certificate
    if (days > warnDays) return []
    return [
      {
        urgency: days > failDays ? 'soon' : 'now',
        kind: 'Certificate',
        title: 'TLS_CERT_FILE',
        reason: html`For ${subjectAltName}. Renew it and restart the nodes one after the other:
          certificates are read at the start.`,
        acts: html`<a class="button" href="/console/settings">See the settings</a>`,
        since: endsAt,
        age: days > 0 ? html`ends ${printUntil(endsAt, now)}` : html`ended ${printAgo(endsAt, now)}`,
      },
    ]
  },
}

export const secrets: AttentionKind = {
  plural: 'client secrets that end',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, now }, most) {
    return (await listEndingSecrets(db, now, most)).map(
      ({ branchId, name, clientId, client, hint, endsAt, lastUsedAt }) => ({
        urgency: endsAt.getTime() - now.getTime() < day ? 'now' : 'soon',
        kind: 'Client secret',
        title: html`<a href="/console/partners/${branchId}">${name}</a>`,
        reason: html`${client} still uses the old secret that ends
          in <code>${hint}</code>, last ${printAgo(lastUsedAt, now)}. It is refused from then on.`,
        since: endsAt,
        age: html`ends ${printUntil(endsAt, now)}`,
        acts: html`<a class="button" href="/console/partners/${branchId}#client-${clientId}">See the
          client<span class="unseen"> ${client}</span></a><a class="button"
          href="/console/partners/${branchId}#messages">Write to the partner<span class="unseen">
          ${name}</span></a>`,
      }),
    )
  },
}

/** A rotation is done when the keys of before are gone. */
export const sealingKeys: AttentionKind = {
  plural: 'sealing keys',
  all: '/console/audit?action=keys',
  permission: 'keys.manage',
  async find({ db, vault, now }) {
    const { keyIds, currentKeyId } = vault
    if (keyIds.length < 2) return []
    const rotations = { subject: `key:${currentKeyId}`, actions: ['keys.rotated'] } as const
    const { entries } = await searchEntries(db, rotations, undefined, { most: 1 })
    const since = entries[0]?.at ?? now
    return [
      {
        urgency: 'know',
        kind: 'Sealing keys',
        title: `${keyIds.length} keys are in use`,
        reason: html`A rotation ends when the older keys are removed:
          <code>countersign keys prune</code>, an hour after it.`,
        since,
        age: entries[0] ? html`rotated ${printAgo(since, now)}` : '',
        acts: html`<a class="button" href="/console/audit?action=keys">See the rotations</a>`,
      },
    ]
  },
}
