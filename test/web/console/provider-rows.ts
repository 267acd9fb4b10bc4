import type { Fields } from '../../support/browser.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { draftUpstream, registerUpstream } from '../../support/upstream.ts'

/** One that is away: a name for each, and an issuer. */
const onProvider = (verb: string, fields: Fields = {}): Aim =>
  async function aim(house) {
    const name = makeUpWord().toLowerCase()
    await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name)
    return { address: `/console/providers/${name}${verb}`, fields }
  }

/** What somebody types into the form, about one that is away. */
export const newProvider = (name = makeUpWord()) => ({
  ...{ name, label: 'Example Bank ID', kind: 'holder', issuer: `https://127.0.0.1:9/${name}` },
  ...{ 'client-id': 'countersign', proof: 'client_secret_basic', secret: 'a secret of theirs' },
  untested: 'yes',
})

/** One that nobody signs in at yet. */
async function onDraft(house: Parameters<Aim>[0]) {
  const { name } = await draftUpstream(house)
  return { address: `/console/providers/${name}/enable`, fields: {} }
}

export const providerRows: ConsoleRows = {
  pages: {
    '/console/providers': async () => ({ address: '/console/providers' }),
    '/console/providers/new': async () => ({ address: '/console/providers/new' }),
    '/console/providers/:provider': onProvider(''),
    '/console/providers/:provider/test': onProvider('/test'),
  },
  forms: {
    '/console/providers/new/create': async () => ({
      address: '/console/providers/new/create',
      fields: { ...newProvider(), once: 'x'.repeat(22) },
    }),
    '/console/providers/:provider/enable': onDraft,
    '/console/providers/:provider/change': onProvider('/change', {
      label: 'Another name',
      'client-id': 'countersign',
    }),
    '/console/providers/:provider/credential': onProvider('/credential', {
      proof: 'client_secret_basic',
      secret: 'new',
    }),
    '/console/providers/:provider/remove': onProvider('/remove'),
  },
}
