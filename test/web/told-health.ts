/**
 * What is said of a webhook agrees with its attempts, whatever sequence of acts and answers led there: a model
 * that knows nothing but what its receiver was sent and answered, beside a whole gateway and every place that
 * tells of it.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { minute } from '../../src/clock.ts'
import { checkWebhooks } from '../../src/doctor/queue.ts'
import { addMember, getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { startRecovery } from '../../src/webhooks/deliveries/recovery.ts'
import {
  deleteWebhook,
  getWebhook,
  setWebhookState,
  updateWebhook,
  type Webhook,
} from '../../src/webhooks/subscriptions/webhook.ts'
import type { CommandLine } from '../cli/command-line.ts'
import type { Browser } from '../support/browser.ts'
import type { Engine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

const acts = [
  ...(['publish', 'publish', 'break', 'mend', 'pause', 'resume', 'suspend', 'approve'] as const),
  ...(['move', 'later', 'try now'] as const),
] as const
type Act = (typeof acts)[number]

/** As the one who looks at a receiver's log sees it. */
interface Model {
  isPaused: boolean
  isSuspended: boolean
  isBroken: boolean
  began:
    | 'not tried yet'
    | 'not tried since it was resumed'
    | 'not tried since the partner was approved'
    | 'not tried at its new address'
  /** Whether each attempt of this term was accepted. */
  attempts: boolean[]
  published: number
  readonly accepted: Set<string>
  readonly refused: Set<string>
}

const attemptsThatOpen = 10
const entitiesThatOpen = 3

interface Verdict {
  readonly label: string
  readonly condition: string
  readonly waiting: number
}

function judge(model: Model): Verdict {
  const waiting = model.published - model.accepted.size
  const stuck = [...model.refused].filter((id) => !model.accepted.has(id)).length
  const failures = model.attempts.length - 1 - model.attempts.lastIndexOf(true)
  const said = (condition: string, label = condition) => ({ condition, label, waiting })
  if (model.isPaused) return said('paused')
  if (model.isSuspended) return said('held', 'on hold')
  if (model.attempts.length === 0) return said(waiting > 0 ? 'not tried' : 'idle', model.began)
  if (failures >= attemptsThatOpen && stuck >= entitiesThatOpen)
    return said('breaker open', 'failing: one retry a minute')
  if (failures > 0) return said('failing')
  return stuck > 0 ? said('retrying', 'some retrying') : said('healthy')
}

export interface ToldHouse {
  readonly engine: Engine
  readonly member: () => Promise<Browser>
  readonly operator: () => Promise<Browser>
  readonly line: CommandLine
}

/** Sessions end while the clock is moved. */
function signedIn(engine: Engine, sign: () => Promise<Browser>): () => Promise<Browser> {
  let known: { readonly browser: Browser; readonly atMs: number } | undefined
  return async () => {
    const nowMs = engine.house.clock.now().getTime()
    if (!known || nowMs - known.atMs > 5 * minute) known = { browser: await sign(), atMs: nowMs }
    return known.browser
  }
}

export async function openToldHouse(engine: Engine, line: CommandLine): Promise<ToldHouse> {
  const { house, db, branchId } = engine
  const user = await house.makeUser()
  await addMember(db, await getPartner(db, String(branchId)), user, house.act())
  const boss = await house.makeOperator()
  return {
    ...{ engine, line },
    member: signedIn(engine, () => house.signIn(user)),
    operator: signedIn(engine, () => house.signIn(boss)),
  }
}

const statusIn = (text: string, begin: RegExp) => begin.exec(text)?.[1]

async function look(
  { engine, member, operator, line }: ToldHouse,
  webhook: Webhook,
  model: Model,
): Promise<void> {
  const { label, condition, waiting } = judge(model)
  const { db, branchId, house } = engine
  const home = `/partner/${branchId}`
  const told = { label, condition, waiting }
  const isFailing = condition === 'failing' || condition === 'breaker open'
  const isWell = condition === 'healthy' || condition === 'idle'
  if (!model.isSuspended) {
    const browser = await member()
    const [overview, list, page] = await Promise.all(
      [home, `${home}/webhooks`, `${home}/webhooks/${webhook.id}`].map(
        async (at) => (await browser.get(at)).text,
      ),
    )
    const attention = statusIn(overview!, /Needs attention<\/dt><dd>([\s\S]*?)<\/dd>/)!
    assert.equal(attention.includes('class="state'), !isWell, `the overview: ${attention}`)
    if (waiting > 0) assert.notEqual(attention, 'none', 'something waits')
    if (!isWell) assert.ok(attention.includes(`>${label}<`), `${attention} is ${label}`)
    assert.equal(statusIn(overview!, /state=unfinished">(\d+)</), String(waiting))
    assert.ok(list!.includes(`>${label}</span>`), 'the list')
    assert.deepEqual({ ...told, label: statusIn(page!, /<h1>[^<]*<span class="state \w+">([^<]*)/) }, told)
    assert.equal(statusIn(page!, /state=unfinished">(\d+)</), String(waiting), 'its page counts what waits')
    const { deliveries } = (
      await engine.call('GET', `/v2/webhooks/${webhook.id}/deliveries?state=waiting`)
    ).json<{ deliveries: { nextAttemptAt?: number }[] }>()
    for (const { nextAttemptAt = Number.POSITIVE_INFINITY } of deliveries)
      assert.ok(nextAttemptAt >= house.clock.now().getTime(), 'a next attempt that has passed')
  }
  const browser = await operator()
  const lane = (await browser.get(`/console/webhooks/${webhook.id}`)).text
  assert.equal(statusIn(lane, /<h1>[^<]*<span class="state \w+">([^<]*)/), label, 'the console')
  const listed = (await browser.get(`/console/webhooks?condition=${encodeURIComponent(condition)}`)).text
  assert.ok(listed.includes(`/console/webhooks/${webhook.id}"`), 'the list of all webhooks')
  const queue = (await browser.get('/console')).text
  const isQueued = queue.includes('>Failing webhook<')
  assert.equal(isQueued, isFailing, 'the queue')
  await lookAtLine(line, webhook, { label, isFailing })
  const { finding } = await checkWebhooks(db, house.clock)
  const count = (of: boolean) => (of ? 1 : 0)
  const beginning = `${count(isFailing)} webhooks fail, ${count(condition === 'breaker open')} of them`
  assert.ok(finding.found.startsWith(beginning), finding.found)
  await eventually('the metric', async () =>
    (await fetch(house.gateway.metricsUrl!).then((answer) => answer.text())).includes(
      `countersign_webhooks{condition="${condition}"} 1`,
    ),
  )
}

async function lookAtLine(line: CommandLine, { id, branchId }: Webhook, { label, isFailing }: LineVerdict) {
  const of = ['--partner', String(branchId)]
  const shown = await line.read('webhook', 'show', String(id), ...of)
  const listed = await line.read<Record<string, unknown>[]>('webhook', 'list', ...of)
  const row = listed.find((each) => each.id === id)
  for (const [name, said] of Object.entries({ 'webhook show': shown, 'webhook list': row })) {
    assert.equal(said?.health, label, name)
    if (isFailing) assert.ok(said?.failing_since && said.why, `${name} says since when and why`)
    if (label === 'healthy') assert.deepEqual([said?.failing_since, said?.why], [null, null], name)
  }
}

interface LineVerdict {
  readonly label: string
  readonly isFailing: boolean
}

let runs = 0

async function play(told: ToldHouse, walk: readonly Act[]): Promise<void> {
  const { engine } = told
  const { house, db, branchId, receiver } = engine
  const run = ++runs
  let path = `/told-${run}`
  const model: Model = {
    ...{ isPaused: false, isSuspended: false, isBroken: false, began: 'not tried yet' },
    ...{ attempts: [], published: 0, accepted: new Set(), refused: new Set() },
  }
  const answerAt = (at: string) =>
    receiver.on(at, (request, response) => {
      model.attempts.push(!model.isBroken)
      const entity = (JSON.parse(request.body) as { entity: string }).entity
      ;(model.isBroken ? model.refused : model.accepted).add(entity)
      response.writeHead(model.isBroken ? 500 : 200).end()
    })
  answerAt(path)
  const made = await engine.makeWebhook(path)
  const webhook = () => getWebhook(db, { branchId, environment: 'live' }, made.id)
  const begin = (began: Model['began']) => Object.assign(model, { began, attempts: [] })
  const set = async (status: 'approved' | 'suspended') => {
    const partner = await getPartner(db, String(branchId))
    await setPartnerStatus(db, partner, status, status === 'suspended' ? 'a test' : undefined, house.act())
  }
  const does: Record<Act, () => Promise<unknown> | unknown> = {
    publish: () => engine.publish({ entity: `transaction:${run}-${++model.published}` }),
    break: () => Object.assign(model, { isBroken: true }),
    mend: () => Object.assign(model, { isBroken: false }),
    async pause() {
      await setWebhookState(db, await webhook(), 'paused', house.act())
      model.isPaused = true
    },
    async resume() {
      await setWebhookState(db, await webhook(), 'active', house.act())
      if (model.isPaused) begin('not tried since it was resumed')
      model.isPaused = false
    },
    async suspend() {
      if (!model.isSuspended) await set('suspended')
      model.isSuspended = true
    },
    async approve() {
      if (!model.isSuspended) return
      begin('not tried since the partner was approved')
      model.isSuspended = false
      await set('approved')
    },
    async move() {
      path = `/told-${run}-${model.published}-${Math.random()}`
      answerAt(path)
      begin('not tried at its new address')
      const { vault, guard: policy } = house.gateway.context
      await updateWebhook({ db, vault, policy }, await webhook(), { url: receiver.url(path) }, house.act())
    },
    later: () => engine.advanceToNextLook(),
    async 'try now'() {
      if (!model.isPaused && !model.isSuspended)
        await startRecovery(db, await webhook(), house.clock.now(), house.act())
    },
  }
  try {
    for (const act of walk) {
      await does[act]()
      await engine.wake()
      await engine.idle()
      await look(told, await webhook(), model)
    }
  } finally {
    await does.approve()
    await deleteWebhook(db, await webhook(), house.act())
  }
}

export async function playWalks(
  told: ToldHouse,
  parameters: fc.Parameters<[Act[]]> & { readonly longest: number },
): Promise<void> {
  const walks = fc.array(fc.constantFrom(...acts), { minLength: 4, maxLength: parameters.longest })
  await fc.assert(
    fc.asyncProperty(walks, (walk) => play(told, walk)),
    parameters,
  )
}
