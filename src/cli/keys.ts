import { sealedAdminAnswers } from '../administration/answered.ts'
import { sealedAlertSecrets } from '../alerts/target.ts'
import { sealedAnchorKey } from '../audit/anchor-key.ts'
import { recordAct } from '../audit/audit.ts'
import { second } from '../clock.ts'
import {
  generateKey,
  type KeySource,
  openVaultOf,
  printKey,
  readKeyFile,
  type Vault,
  writeKeyFile,
} from '../crypto/vault.ts'
import { shareKeys, tellOfKeys } from '../database/keys.ts'
import { changeKeysAlone, reseal } from '../database/reseal.ts'
import { checkSealed } from '../doctor/keys.ts'
import { sealedProviders } from '../identity/provider.ts'
import { sealedClientSecrets } from '../partners/client-secret.ts'
import { sealedTotpSecrets } from '../users/totp.ts'
import { sealedWebhookSecrets } from '../webhooks/subscriptions/webhook.ts'
import { sealedWebhookHeaders } from '../webhooks/subscriptions/webhook-headers.ts'
import { breakGlass } from './break-glass.ts'
import type { Command, WriteContext } from './command.ts'

async function resealAll({ db, print }: WriteContext, vault: Vault): Promise<number> {
  const progress = (resealed: number) => print.progress(`${resealed} secrets sealed anew`)
  const clientSecrets = await reseal(db, vault, sealedClientSecrets, progress)
  const webhookSecrets = await reseal(db, vault, sealedWebhookSecrets, progress)
  const webhookHeaders = await reseal(db, vault, sealedWebhookHeaders, progress)
  const alertSecrets = await reseal(db, vault, sealedAlertSecrets, progress)
  const totpSecrets = await reseal(db, vault, sealedTotpSecrets, progress)
  const anchorKeys = await reseal(db, vault, sealedAnchorKey, progress)
  const providers = await reseal(db, vault, sealedProviders, progress)
  const answers = await reseal(db, vault, sealedAdminAnswers, progress)
  print.progress('')
  const ofPeople = totpSecrets + anchorKeys + providers + answers
  return clientSecrets + webhookSecrets + webhookHeaders + alertSecrets + ofPeople
}

/** Before running nodes are told: a set without an older key is not one that they should go on with. */
async function refuseUnlessAllOpens({ db }: WriteContext, vault: Vault): Promise<void> {
  const { finding } = await checkSealed(vault, db)
  if (finding.state === 'fail') throw new Error(`${finding.found} ${finding.advice}`)
}

/** A node that asks a command has twenty seconds for it; keys in an environment come with a restart alone. */
const patienceFor = ({ kind }: KeySource) => (kind === 'environment' ? 0 : 30 * second)

/** Where the keys are kept by others, who may now let go of the older ones. */
const keptBy: Readonly<Record<KeySource['kind'], string | undefined>> = {
  file: undefined,
  environment: 'SECRET_KEY may now hold it alone.',
  command:
    'SECRET_KEY_COMMAND may now print it alone. Run this again then: running gateways let go of the others.',
}

export const keyCommands: readonly Command[] = [
  {
    name: 'keys list',
    needs: 'configuration',
    summary: 'Shows the ids of the configured keys; the first one seals.',
    run: async ({ config, print }) =>
      print.table(
        (await openVaultOf(config.keySource)).keyIds.map((id, index) => ({ id, seals: index === 0 })),
        'No keys.',
      ),
  },
  {
    name: 'keys generate',
    // It is how one begins.
    needs: 'nothing',
    summary: 'Prints a new key and nothing else, for SECRET_KEY or a SECRET_KEY_FILE. Changes nothing.',
    async run({ print }, words) {
      const key = printKey(generateKey())
      // Alone, so that it can be led into a file.
      if (words.has('json')) print.record({ key })
      else print.say(key)
    },
  },
  {
    name: 'keys rotate',
    needs: 'database',
    summary:
      'Adds a new key to the key file, waits until every running gateway has it, and seals every stored secret with it. Keys from SECRET_KEY_COMMAND: put the new key first where it reads them, then run this. SECRET_KEY in the environment: put the new key first, restart, then run this.',
    async run(context) {
      const { config, db, act, print } = context
      await breakGlass(context, 'keys.rotate', `key:${context.vault.currentKeyId}`)
      const { vault, resealed } = await changeKeysAlone(db, async () => {
        if (config.keySource.kind === 'file') {
          const { path } = config.keySource
          writeKeyFile(path, [generateKey(), ...readKeyFile(path)])
        }
        // As they are now: another command may have changed them since this one began.
        const vault = await openVaultOf(config.keySource)
        await refuseUnlessAllOpens(context, vault)
        await shareKeys(db, vault, patienceFor(config.keySource))
        return { vault, resealed: await resealAll(context, vault) }
      })
      await recordAct(db, act(), 'keys.rotated', `key:${vault.currentKeyId}`, { resealed })
      print.record({
        current_key: vault.currentKeyId,
        secrets_sealed_anew: resealed,
        older_keys: vault.keyIds.slice(1),
      })
      print.say(
        '\nOlder keys still open what is on its way. Remove them with "countersign keys prune" after an hour.',
      )
    },
  },
  {
    name: 'keys prune',
    needs: 'database',
    summary: 'Seals what is left under the current key, then removes all older keys from the key file.',
    async run(context) {
      const { config, db, act, print } = context
      const { vault, resealed } = await changeKeysAlone(db, async () => {
        const vault = await openVaultOf(config.keySource)
        await refuseUnlessAllOpens(context, vault)
        await shareKeys(db, vault, patienceFor(config.keySource))
        const resealed = await resealAll(context, vault)
        if (config.keySource.kind === 'file') {
          const { path } = config.keySource
          writeKeyFile(path, readKeyFile(path).slice(0, 1))
          await tellOfKeys(db)
        }
        return { vault, resealed }
      })
      const kept = keptBy[config.keySource.kind]
      if (kept !== undefined) print.say(`Every stored secret is sealed with the first key: ${kept}`)
      await recordAct(db, act(), 'keys.pruned', `key:${vault.currentKeyId}`, { resealed })
      print.record({ current_key: vault.currentKeyId, secrets_sealed_anew: resealed })
    },
  },
]
