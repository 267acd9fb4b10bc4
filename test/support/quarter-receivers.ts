/**
 * The webhooks of a quarter and the receivers behind them: each has its manner, which may change at any time.
 */
import type { ServerResponse } from 'node:http'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import type { Engine } from './engine.ts'
import type { ReceivedRequest } from './receiver.ts'

export const manners = [
  'well',
  'well',
  'well',
  'fails',
  'busy',
  'resets',
  'gone',
  'refuses one entity',
] as const
type Manner = (typeof manners)[number]

export interface Hook {
  readonly place: number
  webhook: Webhook
  manner: Manner
  isDeleted: boolean
}

/** Where its webhook may lead to. */
export function pathsOf({ place }: Pick<Hook, 'place'>): string[] {
  return [`/hook-${place}`, `/hook-${place}/moved`]
}

export class Receivers {
  readonly hooks: Hook[] = []
  /** Webhook and event, where the receiver said that it has it. */
  readonly accepted = new Set<string>()
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  living(branchId?: number): Hook[] {
    return this.hooks.filter(
      (hook) => !hook.isDeleted && (branchId ?? hook.webhook.branchId) === hook.webhook.branchId,
    )
  }

  async add(branchId: number): Promise<void> {
    const place = this.hooks.length
    const webhook = await this.#engine.makeWebhook(pathsOf({ place })[0]!, { branchId })
    const hook: Hook = { place, webhook, manner: 'well', isDeleted: false }
    this.hooks.push(hook)
    for (const path of pathsOf(hook))
      this.#engine.receiver.on(path, (request, response) => this.answer(hook, request, response))
  }

  answer({ manner, webhook }: Hook, request: ReceivedRequest, response: ServerResponse): void {
    const { entity } = JSON.parse(request.body) as { entity: string }
    if (manner === 'resets') response.socket?.resetAndDestroy()
    else if (manner === 'busy') response.writeHead(429, { 'retry-after': '30' }).end()
    else if (manner === 'gone') response.writeHead(410).end()
    else if (manner === 'fails' || (manner !== 'well' && entity.endsWith(':0'))) response.writeHead(500).end()
    else {
      this.accepted.add(`${webhook.id} ${request.id}`)
      response.end()
    }
  }

  isUnderWay(hook: Hook): boolean {
    return pathsOf(hook).some((path) => this.#engine.receiver.underWay(path) > 0)
  }
}
