import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { registerUpstream } from '../../support/upstream.ts'

/** One that is away: a name for each, and an issuer. */
const onProvider = (verb: string): Aim =>
  async function aim(house) {
    const name = makeUpWord().toLowerCase()
    await registerUpstream(house, { issuer: `https://127.0.0.1:9/${name}` }, name)
    return { address: `/console/providers/${name}${verb}`, fields: {} }
  }

export const providerRows: ConsoleRows = {
  pages: {
    '/console/providers': async () => ({ address: '/console/providers' }),
    '/console/providers/:provider': onProvider(''),
    '/console/providers/:provider/test': onProvider('/test'),
  },
  forms: {
    '/console/providers/:provider/remove': onProvider('/remove'),
  },
}
