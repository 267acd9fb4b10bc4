import { theBrokerage } from '../../../src/alerts/target.ts'
import { makeAddress } from '../../support/alerts.ts'
import { ask } from '../../support/ask.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { makeUpWord } from '../../support/made-up-word.ts'

/** An address of the brokerage; those of before make room. */
const onTarget = (verb: string, isConfirmed: boolean): Aim =>
  async function aim(house) {
    const away = `UPDATE alert_targets SET state = 'removed', created_at = 'epoch' WHERE kind = 'address'`
    await ask(house.gateway.context.db, away)
    const made = await makeAddress(house, theBrokerage, isConfirmed)
    const once = 'x'.repeat(12) + makeUpWord()
    const fields = { ...made, what: 'disabled', wait: '15', once }
    return { address: `/console/alerts/${verb}`, fields }
  }

export const alertRows: ConsoleRows = {
  pages: { '/console/alerts': async () => ({ address: '/console/alerts' }) },
  forms: {
    '/console/alerts/add': async () => ({
      address: '/console/alerts/add',
      fields: {
        url: 'http://127.0.0.1:9/alerts',
        what: 'disabled',
        wait: '5',
        once: 'x'.repeat(12) + makeUpWord(),
      },
    }),
    '/console/alerts/confirm': onTarget('confirm', false),
    '/console/alerts/code': onTarget('code', false),
    '/console/alerts/change': onTarget('change', true),
    '/console/alerts/test': onTarget('test', true),
    '/console/alerts/remove': onTarget('remove', true),
  },
}
