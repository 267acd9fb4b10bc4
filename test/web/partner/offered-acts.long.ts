/**
 * Nothing is offered that will be refused: in each state, every button of the page is pressed as it stands,
 * at once, and does what it says.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hour } from '../../../src/clock.ts'
import { pageRoutes } from '../../../src/web/routes.ts'
import { ask } from '../../support/ask.ts'
import { transaction } from '../../support/branch.ts'
import { endDelivery } from '../../support/by-hand.ts'
import { untilDisabled } from '../../support/disabled.ts'
import { eventually } from '../../support/eventually.ts'
import { followByHand } from '../../support/follow.ts'
import { rowOf } from '../../support/forms-of-pages.ts'
import { openHouse } from '../../support/gateway.ts'
import { holdReplays } from '../../support/held-replays.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { addAs } from '../../support/members.ts'
import { formsOf, type PageForm } from '../../support/page-forms.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { accept, answer, fail, openReceiver } from '../../support/receiver.ts'

const house = await openHouse({ TEST_HOOKS_PER_MINUTE: '0' })
const receiver = await keepOpen(openReceiver())

/** A partner with one webhook, and the deliveries that it was sent. */
interface Scene extends PartnerHouse {
  readonly path: string
  readonly webhookId: number
  readonly webhook: string
  fire(id: number): Promise<string>
}

let scenes = 0

async function openScene(behaviour = accept): Promise<Scene> {
  const partner = await openPartner(house)
  const path = `/scene-${++scenes}`
  receiver.on(path, behaviour)
  const webhookId = await partner.program.register(receiver.url(path))
  return {
    ...partner,
    path,
    webhookId,
    webhook: `${partner.home}/webhooks/${webhookId}`,
    async fire(transactionId) {
      const { deliveries } = await partner.program.fire(transaction({ transactionId }))
      return `${partner.home}/deliveries/${deliveries[0]!.id}`
    },
  }
}

async function switchTo(scene: Scene, act: 'pause' | 'resume'): Promise<Scene> {
  await scene.program.call('POST', `/v2/webhooks/${scene.webhookId}/${act}`)
  return scene
}

async function failing(): Promise<Scene & { delivery: string }> {
  const scene = await openScene(fail)
  return { ...scene, delivery: await scene.fire(1) }
}

async function givenUp() {
  const scene = await failing()
  const { db } = house.gateway.context
  const written = 'SELECT FROM exceptions WHERE webhook_id = $1'
  await eventually(
    'a failure that is written down',
    async () => (await ask(db, written, [scene.webhookId])).length > 0,
  )
  // As if it had used up its schedule.
  await endDelivery(house, scene.delivery.split('/').at(-1)!, 'exhausted')
  return scene
}

async function gone() {
  const scene = await openScene(answer(410))
  const delivery = await scene.fire(1)
  await untilDisabled(house.gateway.context.db, scene.webhookId)
  return { ...scene, delivery }
}

const recent = () => new Date(house.clock.now().getTime() - hour).toISOString().slice(0, 16)

/** A page in a state, made anew for each of its buttons, and the forms that it must have. */
const pages: Record<
  string,
  { offers: readonly string[]; open: (t: TestContext) => Promise<{ scene: Scene; page: string }> }
> = {
  'a delivery that was delivered': {
    offers: ['redeliver'],
    async open() {
      const scene = await openScene()
      return { scene, page: await scene.fire(1) }
    },
  },
  'a delivery that waits for its next attempt': {
    offers: ['redeliver', 'skip'],
    async open() {
      const scene = await failing()
      return { scene, page: scene.delivery }
    },
  },
  'a delivery that waits at a paused webhook': {
    offers: ['skip'],
    async open() {
      const scene = await failing()
      return { scene: await switchTo(scene, 'pause'), page: scene.delivery }
    },
  },
  'a delivery behind another': {
    offers: ['skip'],
    async open() {
      const scene = await failing()
      return {
        scene,
        page: await scene.program.fire(transaction({ transactionId: 1 }), 1).then(lastOf(scene)),
      }
    },
  },
  'a delivery that was given up': {
    offers: ['redeliver'],
    async open() {
      const scene = await givenUp()
      return { scene, page: scene.delivery }
    },
  },
  'a delivery that was skipped': {
    offers: ['redeliver'],
    async open() {
      const scene = await failing()
      await scene.program.call(
        'POST',
        scene.delivery.replace(/.*\/deliveries/, '/v2/deliveries').concat('/skip'),
        {},
      )
      return { scene, page: scene.delivery }
    },
  },
  'a delivery that was refused by a receiver that is gone for ever': {
    offers: ['skip'],
    async open() {
      const scene = await gone()
      return { scene, page: scene.delivery }
    },
  },
  'a webhook that is healthy': {
    offers: ['pause', 'update', 'secret', 'delete'],
    open: async () => ofWebhook(await openScene()),
  },
  'a webhook that is paused': {
    offers: ['resume', 'update', 'secret', 'delete'],
    open: async () => ofWebhook(await switchTo(await openScene(), 'pause')),
  },
  'a webhook that was disabled': {
    offers: ['start', 'resume', 'update', 'secret', 'delete'],
    open: async () => ofWebhook(await gone()),
  },
  'recovering a webhook that fails': {
    offers: ['start'],
    open: async () => ofWebhook(await failing(), `/recover?since=${recent()}`),
  },
  'recovering a webhook that was disabled': {
    offers: ['start'],
    open: async () => ofWebhook(await gone(), `/recover?since=${recent()}`),
  },
  'recovering a webhook that is paused': {
    offers: [],
    open: async () => ofWebhook(await switchTo(await failing(), 'pause'), `/recover?since=${recent()}`),
  },
  'recovering a webhook that is being recovered': {
    offers: [],
    async open(t) {
      const scene = await failing()
      await holdReplays(t, house, scene.webhookId, { since: 1 })
      return ofWebhook(scene, `/recover?since=${recent()}`)
    },
  },
  'replaying what was given up': {
    offers: ['start'],
    open: async () => ofWebhook(await givenUp(), '/replay?failed=yes'),
  },
  'replaying nothing': {
    offers: [],
    open: async () => ofWebhook(await openScene(), '/replay?failed=yes'),
  },
  'replaying at a webhook that has ten replays running': {
    offers: [],
    async open(t) {
      const scene = await givenUp()
      await holdReplays(t, house, scene.webhookId, { entity: 'transaction:1' }, 10)
      return ofWebhook(scene, '/replay?failed=yes')
    },
  },
  'skipping what waits': {
    offers: ['start'],
    open: async () => ofWebhook(await failing(), '/skip'),
  },
  'skipping at a webhook at which nothing waits': {
    offers: [],
    open: async () => ofWebhook(await openScene(), '/skip'),
  },
  'the webhooks of a partner without a client': {
    offers: ['create', 'pause'],
    async open() {
      const scene = await openScene()
      const without = `UPDATE clients SET status = 'suspended' WHERE branch_id = $1`
      await ask(house.gateway.context.db, without, [scene.partner.branchId])
      return { scene, page: `${scene.home}/webhooks` }
    },
  },
  'the webhooks of a partner that has as many as it may': {
    offers: ['pause'],
    async open() {
      const scene = await openScene()
      const more = `INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
         SELECT $1, 'live', 'https://app.example.com', '{TRANSACTION}', $2, $2 FROM generate_series(2, 100)`
      await ask(house.gateway.context.db, more, [scene.partner.branchId, house.clock.now()])
      await house.gateway.context.db.script(followByHand)
      return { scene, page: `${scene.home}/webhooks` }
    },
  },
  'test events of a partner with a webhook': {
    offers: ['send'],
    open: async () => ofHome(await openScene(), '/test'),
  },
  'test events of a partner whose webhook is disabled': {
    offers: ['send'],
    open: async () => ofHome(await gone(), '/test'),
  },
}

function ofWebhook(scene: Scene, more = '') {
  return { scene, page: `${scene.webhook}${more}` }
}

function ofHome(scene: Scene, more: string) {
  return { scene, page: `${scene.home}${more}` }
}

const lastOf =
  ({ home }: Scene) =>
  ({ deliveries }: { deliveries: readonly { id: string }[] }) =>
    `${home}/deliveries/${deliveries.at(-1)!.id}`

const nameOf = ({ action }: PageForm) => action.split('/').at(-1)!
/** What has to be typed. */
const typed = { url: 'https://app.example.com/hooks', secret: 'a secret of its own' }

async function formsIn({ scene, page }: { scene: Scene; page: string }): Promise<PageForm[]> {
  const { status, text } = await scene.browser.get(page)
  assert.equal(status, 200, text)
  return formsOf(text).filter(({ method }) => method === 'post')
}

for (const [name, { offers, open }] of Object.entries(pages))
  test(`${name}: ${offers.length === 0 ? 'nothing is offered' : `what is offered is done (${offers.join(', ')})`}`, async (t) => {
    const found = await formsIn(await open(t))
    // In a list each row offers its own.
    assert.deepEqual([...new Set(found.map(nameOf))].sort(), [...offers].sort())
    for (const offer of offers) {
      const place = await open(t)
      const form = (await formsIn(place)).find((each) => nameOf(each) === offer)!
      const fields = Object.entries(form.fields).map(([field, value]) => [
        field,
        value === '' && field in typed ? typed[field as keyof typeof typed] : value,
      ])
      const done = await place.scene.browser.post(form.action, Object.fromEntries(fields))
      assert.equal(done.status, 303, `${offer}: ${done.text}`)
      assert.equal((await place.scene.browser.get(done.location!)).status, 200)
    }
  })

for (const [name, { open }] of Object.entries(pages))
  test(`${name}: a viewer is offered none of it, and led nowhere that is closed to them`, async (t) => {
    const { scene, page } = await open(t)
    const { browser } = await addAs(house, scene.partner, 'viewer')
    const { status, text } = await browser.get(page)
    const row = pageRoutes.find(({ method, path }) => method === 'GET' && path === rowOf('GET', page))!
    assert.equal(status, row.gate.least === 'viewer' ? 200 : 403, text)
    assert.deepEqual(
      formsOf(text).filter(({ method }) => method === 'post'),
      [],
    )
    const links = [...text.matchAll(/href="(\/partner\/[^"#]*)"/g)].map(([, link]) =>
      link!.replaceAll('&amp;', '&'),
    )
    for (const link of new Set(links))
      assert.equal((await browser.get(link)).status, 200, `${page} leads to ${link}`)
  })
