/** The forms of credentials for the administration API. */
import { credentialDays } from '../../../users/admin-credential.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { staffRoles } from '../../../vocabulary/permission.ts'
import { keyNumber, longText, number, oneOf, reason, text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

const plain = html`autocomplete="off" autocapitalize="none" spellcheck="false"`

export const createCredential = defineForm(
  '/console/credentials/create',
  {
    name: text({
      label: 'Name',
      most: 100,
      isRequired: true,
      more: html`autocomplete="off" placeholder="What it is for"`,
    }),
    person: text({
      label: 'Acts for',
      hint: 'A username of the staff. It ends with their roles.',
      most: 100,
      isRequired: true,
      more: plain,
    }),
    role: oneOf({ label: 'Role', of: staffRoles }),
    environment: oneOf({
      label: 'Site',
      of: environments,
      choices: [
        { value: 'live', label: 'Live' },
        { value: 'sandbox', label: 'Sandbox' },
      ],
    }),
    readers: longText({
      label: 'Who else can read it',
      hint: 'Usernames of the staff, a line each: where it is kept they can see it, so they decide nothing that it proposes.',
      most: 3_000,
      more: plain,
    }),
    days: number({ label: 'Days until it ends', hint: `${credentialDays.most} at most.` }),
    reason: reason(),
  },
  { makes: true },
)

export const revokeCredential = defineForm('/console/credentials/revoke', {
  credential: keyNumber(),
  reason: reason(),
})
