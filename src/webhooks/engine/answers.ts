/** What receivers said: most say the same each time, and it is written once a day. */
import { hash } from 'node:crypto'
import { BoundedMap } from '../../bounded-map.ts'

export interface ReceiverWords {
  readonly webhookId: number
  /** A hash of the words. */
  readonly said: string
  readonly response: string | undefined
  readonly detail: string | undefined
}

const hashes = new BoundedMap<string, string>(1024 * 1024)

/** Undefined where nothing was said. */
export function saidBy(
  webhookId: number,
  response: string | undefined,
  detail: string | undefined,
): ReceiverWords | undefined {
  if (!response && detail === undefined) return undefined
  const words = `${response ?? ''}\0${detail ?? ''}`
  let said = hashes.get(words)
  if (said === undefined) {
    said = hash('sha256', words, 'buffer').readBigInt64BE(0).toString()
    hashes.set(words, said)
  }
  return { webhookId, said, response, detail }
}

/** What this worker has had written down today. It may forget: what is written again is there already. */
export class AnswersWritten {
  #day = 0
  #known = new BoundedMap<string, true>(4 * 1024 * 1024)

  /** Each once, without what is there. */
  selectNew(day: number, all: readonly ReceiverWords[]): ReceiverWords[] {
    if (day !== this.#day) {
      this.#day = day
      this.#known = new BoundedMap(4 * 1024 * 1024)
    }
    const fresh = new Map<string, ReceiverWords>()
    for (const each of all) {
      const key = keyOf(each)
      if (!this.#known.has(key)) fresh.set(key, each)
    }
    return [...fresh.values()]
  }

  note(day: number, written: readonly ReceiverWords[]): void {
    if (day !== this.#day) return
    for (const each of written) this.#known.set(keyOf(each), true)
  }
}

function keyOf({ webhookId, said }: ReceiverWords): string {
  return `${webhookId}/${said}`
}
