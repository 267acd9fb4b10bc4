/** What is in force on the node that answers: every setting, and what the node and its database are. */
import { hostname } from 'node:os'
import { second } from '../../../clock.ts'
import type { Context } from '../../../context.ts'
import type { Database } from '../../../database/database.ts'
import { inspectSchema, type SchemaState } from '../../../database/migrations.ts'
import { selectVersion } from '../../../database/server.sql.ts'
import { measureAhead } from '../../../database/shared-clock.ts'
import type { SettingInForce } from '../../../settings/read.ts'
import { readVersion } from '../../../settings/version.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { facts, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { printDuration } from '../webhooks/lane-words.ts'

export async function showSettings(visit: Visit, operator: Operator) {
  const { context } = visit
  return sendConsole(visit, operator, {
    title: 'Settings',
    section: '/console/settings',
    body: html`<h1>Settings</h1>
<section class="card"><h2>This node</h2>${facts(await readFacts(context))}
<p class="small">Of the node that answered; others may be set otherwise.</p></section>
${printSettings(context)}
<p class="small">Settings come from the environment and count from the next start of a node.
  What is secret is not shown, here or anywhere.</p>`,
  })
}

async function readFacts({ db, config }: Context): Promise<(readonly [string, Content])[]> {
  const [server] = await db.query(selectVersion)
  const { aheadMs, roundTripMs } = await measureAhead(db, Date.now)
  return [
    ['Countersign', readVersion()],
    ['Host', hostname()],
    ['Roles', config.roles.join(', ')],
    ['Up for', printDuration(process.uptime() * second)],
    ['Node.js', process.version],
    ['PostgreSQL', server!.text],
    ['Database', config.databaseUrl === undefined ? "the gateway's own" : 'DATABASE_URL'],
    ['Schema', printSchema(await inspectSchema(db))],
    ['Clock', printClock(aheadMs, roundTripMs)],
    ['Connections', printLoad(db)],
  ]
}

function printSchema(schema: SchemaState): string {
  if (schema.kind === 'current') return `version ${schema.version}, as this release wants it`
  if (schema.kind === 'behind' || schema.kind === 'newer')
    return `version ${schema.version}; this release wants ${schema.wanted}`
  return schema.kind === 'changed' ? `${schema.name} is not the one that made this database` : 'empty'
}

/** `aheadMs`: how far the database is ahead of this machine. */
function printClock(aheadMs: number, roundTripMs: number): string {
  const ms = Math.round(Math.abs(aheadMs))
  const exactness = `measured to ${Math.max(1, Math.ceil(roundTripMs / 2))} ms`
  if (ms <= roundTripMs) return `this machine and the database agree, ${exactness}`
  const words = ms < 10 * second ? `${ms.toLocaleString('en')} ms` : printDuration(ms)
  return `this machine is ${words} ${aheadMs > 0 ? 'behind' : 'ahead of'} the database, ${exactness}; the gateway goes by the database`
}

function printLoad(db: Database): string {
  const { busy, idle, waiting } = db.load()
  return `${busy} busy, ${idle} idle; ${waiting} statements wait`
}

function printSettings(context: Context): Html {
  const rows = context.config.settings.map(
    (setting) => html`<tr>
<th scope="row"><code>${setting.name}</code></th>
<td class="url">${printValue(setting, context)}</td>
<td>${setting.source}</td>
<td>${setting.fallback === '' ? '–' : html`<code>${setting.fallback}</code>`}</td>
<td class="url">${setting.meaning}</td>
</tr>`,
  )
  return table('Settings in force', ['Setting', 'In force', 'From', 'Default', 'Meaning'], rows)
}

function printValue({ name, source, value, secret }: SettingInForce, context: Context): Html {
  const { environment, baseUrl, sisterUrl } = context
  const [live, sandbox] = environment === 'live' ? [baseUrl, sisterUrl] : [sisterUrl, baseUrl]
  // Known once the servers listen.
  const taken: Record<string, string> = { BASE_URL: live, SANDBOX_URL: sandbox }
  const text = source === 'default' ? (taken[name] ?? value) : value
  if (text === '') return html`<span class="faint">not set</span>`
  return html`<code>${text}</code>${secret === 'all' && html` <span class="faint">set, not shown</span>`}`
}
