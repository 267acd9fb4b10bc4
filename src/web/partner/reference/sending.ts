/** What a receiver has to know of how deliveries come: when they are tried again, and from where. */
import { retryWords } from '../../../webhooks/outbound/retry-schedule.ts'
import { type Html, html } from '../../frame/html.ts'

export function printSending(sentFrom: readonly string[], home: string): Html {
  return html`<h2 id="retries">Retries</h2>
<p>Any 2xx within ten seconds is success. Everything else is tried again, up to ${retryWords.all}: after
  ${retryWords.waits}, each ${retryWords.jitter}. <code>Retry-After</code> makes a wait longer, up to 24 hours.
  What failed after all retries can be sent again from <a href="${home}/deliveries">Deliveries</a>.</p>
<h2 id="addresses">Addresses that deliveries come from</h2>
${
  sentFrom.length > 0
    ? html`<p>Your firewall may let in these alone:</p>
<ul>${sentFrom.map((each) => html`<li><code>${each}</code></li>`)}</ul>
<p>They say where a delivery comes from, not that it is genuine: verify its
  <a href="${home}/signature">signature</a>.</p>`
    : html`<p>The brokerage has not named any: deliveries may come from any address, and from others tomorrow.
  Do not filter by address; verify the <a href="${home}/signature">signature</a>.</p>`
}`
}
