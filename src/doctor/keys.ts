/**
 * The keys that seal stored secrets: there, kept from others, and able to open everything that was sealed.
 */

import { statSync } from 'node:fs'
import { sealedAdminAnswers } from '../administration/answered.ts'
import { sealedAlertSecrets } from '../alerts/target.ts'
import { sealedAnchorKey } from '../audit/anchor-key.ts'
import { generateKey, openVault, openVaultOf, sealedKeyId, type Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import type { SealedRow, SealedTable } from '../database/reseal.ts'
import { sealedProviders } from '../identity/provider.ts'
import { sealedClientSecrets } from '../partners/client-secret.ts'
import type { Config } from '../settings/config.ts'
import { messageOf } from '../text/thrown.ts'
import { sealedTotpSecrets } from '../users/totp.ts'
import { sealedWebhookSecrets } from '../webhooks/subscriptions/webhook.ts'
import { sealedWebhookHeaders } from '../webhooks/subscriptions/webhook-headers.ts'
import { type Answer, fail, ok, warn } from './finding.ts'

/** Group members may read, as mounted secrets need it; no other user may, and only the owner may write. */
const looseBits = 0o027

export async function checkKeys({ keySource }: Config): Promise<Answer<Vault>> {
  const file = keySource.kind === 'file' ? statSync(keySource.path, { throwIfNoEntry: false }) : undefined
  if (keySource.kind === 'file' && !file) {
    const advice =
      'A first start makes it. If secrets are stored already, put back the file they were sealed with.'
    // With a key that opens nothing: whatever is sealed shows.
    const value = openVault({ kind: 'environment', keys: [generateKey()] })
    return { finding: warn(`${keySource.path} does not exist.`, advice), value }
  }
  let vault: Vault
  try {
    vault = await openVaultOf(keySource)
  } catch (error) {
    return { finding: fail(messageOf(error), unreadable[keySource.kind]) }
  }
  if (keySource.kind !== 'file' || !file) {
    const from = keySource.kind === 'command' ? 'from SECRET_KEY_COMMAND' : 'in SECRET_KEY'
    return { finding: ok(`${printKeys(vault)} ${from}.`), value: vault }
  }
  const { path } = keySource
  const mode = (file.mode & 0o777).toString(8).padStart(4, '0')
  const found = `${printKeys(vault)} in ${path}, mode ${mode}.`
  const isLoose = (file.mode & looseBits) !== 0
  return { finding: isLoose ? fail(found, `Keep others out: chmod 600 ${path}`) : ok(found), value: vault }
}

const unreadable = {
  file: 'Put back the file that the stored secrets were sealed with.',
  environment: 'Set SECRET_KEY to the keys that the stored secrets were sealed with.',
  command:
    'Run the command as the user of the gateway, with its environment. Running nodes go on with the keys they have; none can start.',
}

function printKeys({ keyIds }: Vault): string {
  return `${keyIds.length === 1 ? 'One key' : `${keyIds.length} keys`} (${keyIds.join(', ')})`
}

interface Tally {
  total: number
  older: number
  readonly unopened: Map<string, number>
}

export async function checkSealed(vault: Vault, db: Database): Promise<Answer> {
  const tally: Tally = { total: 0, older: 0, unopened: new Map() }
  await count(db, vault, sealedClientSecrets, tally)
  await count(db, vault, sealedWebhookSecrets, tally)
  await count(db, vault, sealedWebhookHeaders, tally)
  await count(db, vault, sealedAlertSecrets, tally)
  await count(db, vault, sealedTotpSecrets, tally)
  await count(db, vault, sealedAnchorKey, tally)
  await count(db, vault, sealedProviders, tally)
  await count(db, vault, sealedAdminAnswers, tally)
  const { total, older, unopened } = tally
  if (total === 0) return { finding: ok('No secret is stored yet.') }
  if (unopened.size > 0) {
    const under = [...unopened].map(([id, number]) => `${number} under key ${id}`).join(', ')
    return {
      finding: fail(
        `Of ${total} stored secrets some do not open: ${under}.`,
        'Add that key to SECRET_KEY, the key file or what SECRET_KEY_COMMAND prints, on every node. Without it webhooks cannot be signed, nor codes of authenticator apps be checked.',
      ),
    }
  }
  if (older > 0) {
    return {
      finding: warn(
        `All ${total} stored secrets open, ${older} of them with an older key only.`,
        'Run "countersign keys prune" to seal them with the first key; until then keep the older ones.',
      ),
    }
  }
  const spare =
    vault.keyIds.length > 1 ? ' Older keys are no longer needed: "countersign keys prune" removes them.' : ''
  return { finding: ok(`All ${total} stored secrets open with the first key.${spare}`) }
}

const pageSize = 500

/** Page by page, without a lock. */
async function count<Row extends SealedRow>(
  db: Database,
  vault: Vault,
  { read, purposeOf }: SealedTable<Row>,
  tally: Tally,
): Promise<void> {
  let lastId = 0
  for (;;) {
    const rows = await db.query(read, { id: lastId, most: pageSize })
    const last = rows.at(-1)
    if (!last) return
    lastId = last.id
    for (const row of rows) {
      const keyId = sealedKeyId(row.sealed)
      tally.total++
      if (vault.open(purposeOf(row), row.sealed) === undefined)
        tally.unopened.set(keyId, (tally.unopened.get(keyId) ?? 0) + 1)
      else if (keyId !== vault.currentKeyId) tally.older++
    }
  }
}
