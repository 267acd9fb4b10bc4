/** What receivers said: most say the same each time, and it is written once a day. */
import { hash } from 'node:crypto'
import { BoundedMap } from '../../concurrency/bounded-map.ts'

export interface ReceiverWords {
  readonly webhookId: number
  /** A hash of the words. */
  readonly said: string
  readonly response: string | undefined
  readonly detail: string | undefined
}

/** Undefined where nothing was said. */
export function saidBy(
  webhookId: number,
  response: string | undefined,
  detail: string | undefined,
): ReceiverWords | undefined {
  if (!response && detail === undefined) return undefined
  const words = hash('sha256', `${response ?? ''}\0${detail ?? ''}`, 'hex')
  const said = BigInt.asIntN(64, BigInt(`0x${words.slice(0, 16)}`)).toString()
  return { webhookId, said, response, detail }
}

/** What this worker has had written down. It may forget: what is written again is there already. */
export class WrittenAnswers {
  readonly #known = new BoundedMap<string, true>(4 * 1024 * 1024)

  /** Each once, without what is there. */
  selectNew(day: number, all: readonly ReceiverWords[]): ReceiverWords[] {
    const fresh = new Map<string, ReceiverWords>()
    for (const each of all) {
      const key = keyOf(day, each)
      if (!this.#known.has(key)) fresh.set(key, each)
    }
    return [...fresh.values()]
  }

  note(day: number, written: readonly ReceiverWords[]): void {
    for (const each of written) this.#known.set(keyOf(day, each), true)
  }
}

function keyOf(day: number, { webhookId, said }: ReceiverWords): string {
  return `${day}/${webhookId}/${said}`
}
