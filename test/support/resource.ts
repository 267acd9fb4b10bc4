/** An API that @countersign/resource protects, beside a whole gateway: its clock, and what it was told. */
import { openBearers } from '../../resource/src/bearers.ts'
import type { BearerEvent, BearerOptions, Clock, Judgement, Requirements } from '../../resource/src/index.ts'
import { Refusal } from '../../resource/src/index.ts'
import { createService } from '../../src/services/service.ts'
import { ask } from './ask.ts'
import { eventually } from './eventually.ts'
import type { TestGateway } from './gateway.ts'
import { makeUpWord } from './made-up-word.ts'

/** Goes on a little with each look, and otherwise when it is moved, with that of the gateway or by itself. */
export class MovedClock implements Clock {
  readonly #house: TestGateway
  #movedMs = 0
  #lookMs = 0

  constructor(house: TestGateway) {
    this.#house = house
  }

  nowMs(): number {
    return this.#house.clock.now().getTime() + this.#movedMs
  }

  monotonicMs(): number {
    this.#lookMs += 0.001
    return this.#movedMs + this.#lookMs
  }

  advance(ms: number): void {
    this.#movedMs += ms
  }
}

export interface TestApi {
  readonly clock: MovedClock
  readonly events: readonly BearerEvent[]
  /** How often the gateway was asked. */
  readonly asked: number
  call(token: string | undefined, requirements?: Partial<Requirements>, account?: string): Promise<Judgement>
  /** The status that a caller gets; 200 for one who is let in. */
  status(token: string): Promise<number>
  /**
   * Resolves when a request was let in without a call. A change that is told twice, or a machine that stood
   * still, may make it ask once more.
   */
  remembers(token: string): Promise<unknown>
  /** Resolves when all that has happened until now was told, or may have been: the feed has begun anew. */
  hearsAll(): Promise<unknown>
  /** Resolves when something that answers to this has happened since it was opened. */
  until(what: string, isIt: (event: BearerEvent) => boolean): Promise<BearerEvent>
  close(): void
}

type ServiceDraft = Parameters<typeof createService>[4]

export async function makeService(house: TestGateway, draft?: ServiceDraft) {
  const { db } = house.gateway.context
  const { service, secret } = await createService(db, 'Orders', 'live', house.act(), draft)
  return { id: service.id, secret: secret.text }
}

/** With its feed open, unless nobody is to wait for that. */
export async function openApi(
  house: TestGateway,
  options: Partial<BearerOptions> = {},
  isAwaited = true,
): Promise<TestApi> {
  const events: BearerEvent[] = []
  const clock = new MovedClock(house)
  const credential = options.credential ?? (await makeService(house))
  const bearers = openBearers({
    issuer: house.baseUrl,
    internalUrl: house.internalUrl,
    credential,
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  })
  const api: TestApi = {
    clock,
    events,
    get asked() {
      return events.filter(({ kind }) => kind === 'asked').length
    },
    async call(token, requirements = {}, account) {
      const headers = { authorization: token === undefined ? undefined : `Bearer ${token}` }
      const demand = bearers.demand({ scope: 'read', ...requirements })
      return bearers.judge({ method: 'GET', host: 'api.test', target: '/', headers }, demand, account)
    },
    async status(token) {
      const judgement = await api.call(token)
      return judgement instanceof Refusal ? judgement.status : 200
    },
    remembers: (token) =>
      eventually('it is remembered', async () => {
        const before = api.asked
        return (await api.status(token)) === 200 && api.asked === before
      }),
    async hearsAll() {
      const { db, opaqueTags } = house.gateway.context
      const before = events.length
      const tag = `user:${makeUpWord()}`
      await ask(db, 'SELECT announce($1)', [tag])
      const word = opaqueTags.ofService(credential.id).print(tag)
      const isIt = (event: BearerEvent) =>
        event.kind === 'feed-opened' || (event.kind === 'changed' && event.tags.includes(word))
      return eventually('all is told', () => events.slice(before).some(isIt))
    },
    until: (what, isIt) => eventually(what, () => events.find(isIt)),
    close: () => bearers.close(),
  }
  if (isAwaited) await api.until('the feed is open', ({ kind }) => kind === 'feed-opened')
  return api
}
