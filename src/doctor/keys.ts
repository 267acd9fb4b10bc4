/**
 * The keys that seal stored secrets: there, kept from others, and able to open everything that was sealed.
 */

import { statSync } from 'node:fs'
import { sealedAlertSecrets } from '../alerts/target.ts'
import { sealedAnchorKey } from '../audit/anchor-key.ts'
import { openVault, readKeyFile, type SecretKey, sealedKeyId, type Vault } from '../crypto/vault.ts'
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

export function checkKeys({ keySource }: Config): Answer<readonly SecretKey[]> {
  if (keySource.kind === 'environment') {
    const { keys } = keySource
    return { finding: ok(`${printKeys(keys)} in SECRET_KEY.`), value: keys }
  }
  const { path } = keySource
  const file = statSync(path, { throwIfNoEntry: false })
  if (!file) {
    const advice =
      'A first start makes it. If secrets are stored already, put back the file they were sealed with.'
    return { finding: warn(`${path} does not exist.`, advice), value: [] }
  }
  const keys = readKeys(path)
  if (typeof keys === 'string') {
    return { finding: fail(keys, 'Put back the file that the stored secrets were sealed with.') }
  }
  const mode = (file.mode & 0o777).toString(8).padStart(4, '0')
  const found = `${printKeys(keys)} in ${path}, mode ${mode}.`
  const isLoose = (file.mode & looseBits) !== 0
  return { finding: isLoose ? fail(found, `Keep others out: chmod 600 ${path}`) : ok(found), value: keys }
}

/** A sentence when they cannot be read. */
function readKeys(path: string): readonly SecretKey[] | string {
  try {
    const keys = readKeyFile(path)
    return keys.length > 0 ? keys : `${path} holds no key.`
  } catch (error) {
    return messageOf(error)
  }
}

function printKeys(keys: readonly SecretKey[]): string {
  return `${keys.length === 1 ? 'One key' : `${keys.length} keys`} (${keys.map(({ id }) => id).join(', ')})`
}

interface Tally {
  total: number
  older: number
  readonly unopened: Map<string, number>
}

export async function checkSealed(keys: readonly SecretKey[], db: Database): Promise<Answer> {
  const vault = openVault({ kind: 'environment', keys })
  const tally: Tally = { total: 0, older: 0, unopened: new Map() }
  await count(db, vault, keys[0]?.id, sealedClientSecrets, tally)
  await count(db, vault, keys[0]?.id, sealedWebhookSecrets, tally)
  await count(db, vault, keys[0]?.id, sealedWebhookHeaders, tally)
  await count(db, vault, keys[0]?.id, sealedAlertSecrets, tally)
  await count(db, vault, keys[0]?.id, sealedTotpSecrets, tally)
  await count(db, vault, keys[0]?.id, sealedAnchorKey, tally)
  await count(db, vault, keys[0]?.id, sealedProviders, tally)
  const { total, older, unopened } = tally
  if (total === 0) return { finding: ok('No secret is stored yet.') }
  if (unopened.size > 0) {
    const under = [...unopened].map(([id, number]) => `${number} under key ${id}`).join(', ')
    return {
      finding: fail(
        `Of ${total} stored secrets some do not open: ${under}.`,
        'Add that key to SECRET_KEY or the key file, on every node. Without it webhooks cannot be signed, nor codes of authenticator apps be checked.',
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
    keys.length > 1 ? ' Older keys are no longer needed: "countersign keys prune" removes them.' : ''
  return { finding: ok(`All ${total} stored secrets open with the first key.${spare}`) }
}

const pageSize = 500

/** Page by page, without a lock. */
async function count<Row extends SealedRow>(
  db: Database,
  vault: Vault,
  currentId: string | undefined,
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
      else if (keyId !== currentId) tally.older++
    }
  }
}
