import { sealedAlertSecrets } from '../alerts/target.ts'
import { sealedAnchorKey } from '../audit/anchor-key.ts'
import { recordAct } from '../audit/audit.ts'
import { generateKey, openVault, printKey, readKeyFile, type Vault, writeKeyFile } from '../crypto/vault.ts'
import { changeKeysAlone, reseal } from '../database/reseal.ts'
import { sealedProviders } from '../identity/provider.ts'
import { sealedClientSecrets } from '../partners/client-secret.ts'
import { sealedTotpSecrets } from '../users/totp.ts'
import { sealedWebhookSecrets } from '../webhooks/subscriptions/webhook.ts'
import { sealedWebhookHeaders } from '../webhooks/subscriptions/webhook-headers.ts'
import { breakGlass } from './break-glass.ts'
import type { Command, WriteContext } from './command.ts'

/** With the keys as they are now, which another command may have changed since this one began. */
async function resealUnderCurrent({
  db,
  config,
  print,
}: WriteContext): Promise<{ vault: Vault; resealed: number }> {
  const vault = openVault(config.keySource)
  const progress = (resealed: number) => print.progress(`${resealed} secrets sealed anew`)
  const clientSecrets = await reseal(db, vault, sealedClientSecrets, progress)
  const webhookSecrets = await reseal(db, vault, sealedWebhookSecrets, progress)
  const webhookHeaders = await reseal(db, vault, sealedWebhookHeaders, progress)
  const alertSecrets = await reseal(db, vault, sealedAlertSecrets, progress)
  const totpSecrets = await reseal(db, vault, sealedTotpSecrets, progress)
  const anchorKeys = await reseal(db, vault, sealedAnchorKey, progress)
  const providers = await reseal(db, vault, sealedProviders, progress)
  print.progress('')
  return {
    vault,
    resealed:
      clientSecrets + webhookSecrets + webhookHeaders + alertSecrets + totpSecrets + anchorKeys + providers,
  }
}

export const keyCommands: readonly Command[] = [
  {
    name: 'keys list',
    needs: 'configuration',
    summary: 'Shows the ids of the configured keys; the first one seals.',
    run: async ({ config, print }) =>
      print.table(
        openVault(config.keySource).keyIds.map((id, index) => ({ id, seals: index === 0 })),
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
      'Adds a new key to the key file, tells running gateways, and seals every stored secret with it. With SECRET_KEY in the environment: put the new key first, restart, then run this.',
    async run(context) {
      const { config, db, act, print } = context
      await breakGlass(context, 'keys.rotate', `key:${openVault(config.keySource).currentKeyId}`)
      const { vault, resealed } = await changeKeysAlone(db, async () => {
        if (config.keySource.kind === 'file') {
          const { path } = config.keySource
          writeKeyFile(path, [generateKey(), ...readKeyFile(path)])
        }
        return resealUnderCurrent(context)
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
        const done = await resealUnderCurrent(context)
        if (config.keySource.kind === 'file') {
          const { path } = config.keySource
          writeKeyFile(path, readKeyFile(path).slice(0, 1))
        }
        return done
      })
      if (config.keySource.kind === 'environment') {
        print.say('Every stored secret is sealed with the first key: SECRET_KEY may now hold it alone.')
      }
      await recordAct(db, act(), 'keys.pruned', `key:${vault.currentKeyId}`, { resealed })
      print.record({ current_key: vault.currentKeyId, secrets_sealed_anew: resealed })
    },
  },
]
