/** What developers do with the public keys of a client. */
import { addKeys as add, removeKey as remove } from '../../../partners/client-keys.ts'
import { readJwksText } from '../../../partners/jwks.ts'
import { placeKeys as place } from '../../../partners/key-sets.ts'
import { ignoreAlreadyGone, leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { Visit } from '../../frame/visit.ts'
import type { FreshMember, Member } from '../../gates/gates.ts'
import { clientOf } from './clients.ts'
import type * as forms from './forms.ts'

export async function addKeys(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.addKeys>,
) {
  const client = await clientOf(visit, member)
  const { length } = await add(visit.context.db, client, readJwksText(values.jwks), member.act)
  const text =
    length === 0
      ? 'The client has these keys already.'
      : length === 1
        ? 'The key is added.'
        : 'The keys are added.'
  return leadToDone(visit, member, `${member.home}/clients/${client.id}`, {
    text,
    link: { path: `${member.home}/calls`, label: 'See its calls' },
  })
}

/** A second click finds it gone. */
export async function removeKey(
  visit: Visit,
  member: Member,
  { values }: Submission<typeof forms.removeKey>,
) {
  const client = await clientOf(visit, member)
  await remove(visit.context.db, client, values.key, member.act).catch(ignoreAlreadyGone)
  return leadToDone(visit, member, `${member.home}/clients/${client.id}`, {
    text: 'The key is removed.',
    link: { path: `${member.home}/calls?failed=yes`, label: 'See whether calls fail now' },
  })
}

export async function placeKeys(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.placeKeys>,
) {
  const { db, config } = visit.context
  const client = await clientOf(visit, member)
  const typed = values.jwksUri.trim()
  const jwksUri = typed === '' ? null : typed
  await place(db, client, { jwksUri, policy: config.webhooks }, member.act)
  const here = `${member.home}/clients/${client.id}`
  return leadToDone(visit, member, here, {
    undo: { action: `${here}/place-keys`, fields: { jwksUri: client.jwksUri ?? '' } },
    text:
      jwksUri === null
        ? 'The keys stay as they are, and are read at no address.'
        : 'The keys are read at this address within seconds. Load this page again to see them.',
  })
}
