import { getLane } from '../../../src/webhooks/health/lane-health.ts'
import { setWebhookState } from '../../../src/webhooks/subscriptions/webhook.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import type { TestGateway } from '../../support/gateway.ts'
import { openPartner } from '../../support/portal.ts'

const at =
  (address: string): Aim =>
  async () => ({ address })

/** A webhook of some partner, where nobody listens. */
async function makeWebhook(house: TestGateway): Promise<string> {
  const { program } = await openPartner(house)
  return `/console/webhooks/${await program.register('http://127.0.0.1:9/hooks')}`
}

/** One whose delivery was refused a connection, and waits. */
async function makeFailing(house: TestGateway): Promise<string> {
  const { program } = await openPartner(house)
  const id = await program.register('http://127.0.0.1:9/hooks')
  await program.fire()
  return `/console/webhooks/${id}`
}

/** Of a form of its own. */
const mark = (letter: string) => letter.repeat(22)

async function pause(house: TestGateway, page: string): Promise<void> {
  const { db } = house.gateway.context
  const webhook = await getLane(db, Number(page.split('/').at(-1)), house.clock.now())
  await setWebhookState(db, webhook, 'paused', house.act())
}

export const operationRows: ConsoleRows = {
  pages: {
    '/console': at('/console?period=day'),
    '/console/search': at('/console/search?q=nobody+is+called+so'),
    '/console/webhooks': at('/console/webhooks?condition=healthy&page=1'),
    '/console/webhooks/:id': async (house) => ({ address: `${await makeWebhook(house)}?period=day` }),
    '/console/webhooks/:id/incident': async (house) => ({
      address: `${await makeFailing(house)}/incident?probed=1&after=0`,
    }),
    '/console/webhooks/:id/recover': async (house) => ({ address: `${await makeFailing(house)}/recover` }),
    '/console/audit': at('/console/audit?action=webhook&subject=webhook%3A1'),
    '/console/audit/export': at('/console/audit/export?format=csv&action=webhook'),
    '/console/audit/chain': at('/console/audit/chain'),
    '/console/settings': at('/console/settings'),
  },
  forms: {
    '/console/webhooks/:id/pause': async (house) => ({ address: `${await makeWebhook(house)}/pause` }),
    '/console/webhooks/:id/resume': async (house) => {
      const page = await makeWebhook(house)
      await pause(house, page)
      return { address: `${page}/resume` }
    },
    '/console/webhooks/:id/incident/probe': async (house) => ({
      address: `${await makeFailing(house)}/incident/probe`,
      fields: { once: mark('p') },
    }),
    '/console/webhooks/:id/recover/start': async (house) => ({
      address: `${await makeFailing(house)}/recover/start`,
      fields: { once: mark('r') },
    }),
    '/console/audit/chain/verify': async () => ({
      address: '/console/audit/chain/verify',
      fields: { anchor: '' },
    }),
  },
}
