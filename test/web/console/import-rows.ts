import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { holdSnapshot, importLines } from '../../support/imports.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { nameSource } from '../../support/provisioning.ts'

/** A snapshot that waits for a yes. */
const onWaiting = (verb: string): Aim =>
  async function aim(house) {
    const { id, missing } = await holdSnapshot(house)
    return { address: `/console/imports/${id}${verb}`, fields: { missing: String(missing) } }
  }

async function onFaulty(house: Parameters<Aim>[0]) {
  const { id } = await importLines(house, makeUpWord(), ['{'])
  return { address: `/console/imports/${id}/faults` }
}

export const importRows: ConsoleRows = {
  pages: {
    '/console/imports': async () => ({ address: '/console/imports' }),
    '/console/imports/new': async () => ({ address: '/console/imports/new' }),
    '/console/imports/:id': onWaiting(''),
    '/console/imports/:id/faults': onFaulty,
  },
  forms: {
    '/console/imports/new/upload': async (house) => ({
      address: '/console/imports/new/upload',
      fields: { source: await nameSource(house), mode: 'changes' },
      files: { file: Buffer.from('{}') },
    }),
    '/console/imports/:id/remove': onWaiting('/remove'),
    '/console/imports/:id/stop': onWaiting('/stop'),
  },
}
