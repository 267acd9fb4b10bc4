/** The keys of a client and where they are read, as operators and members see them. */
import type { ClientKey } from '../../partners/client-keys.ts'
import type { KeySet } from '../../partners/key-sets.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import { badge } from '../frame/parts.ts'

/** Its thumbprint (RFC 7638) can be compared with what the partner has. */
export function printKey({ thumbprint, algorithm, kid }: ClientKey): Html {
  return html`<code>${thumbprint}</code> ${algorithm}${kid !== null && html` · kid <code>${kid}</code>`}`
}

export function printKeyUse({ addedAt, lastUsedAt, hasCertificate }: ClientKey): Html {
  return html`added ${printDate(addedAt)} · last used
  ${lastUsedAt ? printDate(lastUsedAt) : 'never'}${hasCertificate && ' · with a certificate'}`
}

export function printKeySet({ jwksUri, readAt, failedSince, fault }: KeySet): Html {
  const problem = failedSince
    ? html` ${badge('bad', 'cannot be read')} since ${printDate(failedSince)}:`
    : fault !== null && html` ${badge('wait', 'keys left out')}`
  return html`Read at <code>${jwksUri}</code>, ${readAt ? html`last ${printDate(readAt)}` : 'not so far'}.${problem}${
    fault !== null && html` ${fault}.`
  }`
}
