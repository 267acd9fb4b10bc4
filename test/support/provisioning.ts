/** A source of the brokerage: what it says, and what is known of it then. */

import type { Act } from '../../src/audit/audit.ts'
import type { Database } from '../../src/database/database.ts'
import { createService } from '../../src/services/service.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { defaultSource } from '../../src/vocabulary/source.ts'
import { ask } from './ask.ts'
import { callJson } from './branch.ts'
import type { Answer } from './browser.ts'
import { basic, type TestGateway } from './gateway.ts'
import { makeUpWord } from './made-up-word.ts'

export interface Core {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  put(path: string, body: object): Promise<Answer>
  remove(path: string, version: number): Promise<Answer>
  /** Puts a customer with an open account of theirs. */
  open(
    customer: string,
    account: string,
    more?: { number?: string; name?: string; role?: string },
  ): Promise<void>
}

interface NamingHouse {
  readonly gateway: { readonly context: { readonly db: Database } }
  act(): Act
}

/** For this site, unless there is one of the name; whoever is connected as the gateway may speak for it. */
export async function nameSource(
  { gateway, act }: NamingHouse,
  environment: Environment = 'live',
  source = makeUpWord(),
): Promise<string> {
  const { db } = gateway.context
  const name = 'SELECT create_source($1, $2, $3, $4) WHERE NOT EXISTS (SELECT FROM sources WHERE name = $1)'
  const { by, at } = act()
  await ask(db, name, [source, environment, by.name, at])
  await ask(db, 'INSERT INTO source_roles VALUES ($1, session_user) ON CONFLICT DO NOTHING', [source])
  return source
}

export async function openCore(
  house: TestGateway,
  environment: Environment = 'live',
  sources: readonly string[] = [defaultSource[environment]],
): Promise<Core> {
  const { db } = house.gateway.context
  for (const source of sources) await nameSource(house, environment, source)
  const { service, secret } = await createService(db, 'core', environment, house.act(), {
    mayProvision: sources,
  })
  const headers = basic({ id: service.id, secret: secret.text })
  const url = `${house.internalUrl}/internal/v1`
  const put = (path: string, body: object) => callJson(`${url}/${path}`, 'PUT', body, headers)
  return {
    id: service.id,
    headers,
    put,
    remove: (path, version) =>
      callJson(
        `${url}/${path}${path.includes('?') ? '' : '?'}version=${version}`,
        'DELETE',
        undefined,
        headers,
      ),
    async open(
      customer,
      account,
      { number = account.replaceAll('-', ''), name = 'Ada Holder', role = 'owner' } = {},
    ) {
      for (const answer of [
        await put(`customers/${customer}`, { name, version: 1 }),
        await put(`accounts/${account}`, { number, type: 'cash', version: 1 }),
        await put(`holdings/${customer}/${account}`, { role, version: 1 }),
      ])
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
    },
  }
}

const customers = `SELECT external_id AS id, name, email, username, status, version,
  removed_at IS NOT NULL AS removed FROM users WHERE source = $1`
const tables = {
  customers: `SELECT id, CASE WHEN NOT removed
    THEN jsonb_build_array(name, email, username, status) END AS said, version FROM (${customers}) AS u
    UNION ALL SELECT external_id, NULL, version FROM tombstones WHERE source = $1 AND kind = 'customer'
      ORDER BY id`,
  accounts: `SELECT external_id AS id, version,
      CASE WHEN removed_at IS NULL
        THEN jsonb_build_array(account_number, status, type, classification, option_level,
        day_trader) END AS said
    FROM accounts WHERE source = $1
    UNION ALL SELECT external_id, version, NULL FROM tombstones WHERE source = $1 AND kind = 'account'
      ORDER BY id`,
  holdings: `SELECT u.external_id AS customer, a.external_id AS account, h.version,
    jsonb_build_array(h.role, h.scopes, h.status) AS said
    FROM holdings h JOIN users u ON u.id = h.user_id JOIN accounts a USING (account_number)
    WHERE u.source = $1 AND h.status <> 'removed' AND u.removed_at IS NULL AND a.removed_at IS NULL
      ORDER BY 1, 2`,
  waiting: `SELECT customer, account, version, jsonb_build_array(role, scopes, status) AS said
    FROM waiting_holdings
    WHERE source = $1 AND status <> 'removed' AND NOT EXISTS (SELECT FROM tombstones t
      WHERE t.source = $1 AND t.external_id IN (customer, account))
      AND NOT EXISTS (SELECT FROM users u WHERE u.source = $1 AND u.external_id = customer
        AND u.removed_at IS NOT NULL)
      AND NOT EXISTS (SELECT FROM accounts a WHERE a.source = $1 AND a.external_id = account
        AND a.removed_at IS NOT NULL) ORDER BY 1, 2`,
}

/**
 * What is known of a source, without ids and times of ours. Of what is gone, that it is, and as of which
 * version: how it was held then is not asked, and a holding of what is gone may wait for it, or be kept with
 * it.
 */
export async function readSource(db: Database, source = 'core'): Promise<Record<string, object[]>> {
  const entries = Object.entries(tables).map(async ([name, text]) => [name, await ask(db, text, [source])])
  return Object.fromEntries(await Promise.all(entries)) as Record<string, object[]>
}
