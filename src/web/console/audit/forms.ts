/** The form of the audit log. */
import { text } from '../../frame/field.ts'
import { defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

export const verifyChain = defineForm('/console/audit/chain/verify', {
  anchor: text({
    label: 'Anchor, if you kept one',
    hint: 'POSITION:HASH, as an earlier verification showed it.',
    most: 100,
    more: html`spellcheck="false" autocomplete="off" autocapitalize="none"`,
  }),
})
