/**
 * Which proofs were taken at resources by this process, so that none is taken twice: the two newest tables of
 * so many places at most. A number of 53 bits stands for a proof: that another one has the same happens once in
 * a billion. What there is no room for is forgotten before its time (docs/security.md).
 */
import { type Clock, minute } from '../clock.ts'

/** Twice as long as a proof is taken. */
const generationMs = 2 * minute
const firstPlaces = 4_096
/** 10,000 a second for as long, half full: 32 MiB a table. */
const mostPlaces = 4_194_304

export interface SpentProofs {
  /** False where it was taken before. `hash` is a character a byte. */
  spend(hash: string): boolean
  readonly bytes: number
}

export function openSpentProofs(clock: Clock, most = mostPlaces): SpentProofs {
  let begunAtMs = Number.NEGATIVE_INFINITY
  let current = new NumberSet(firstPlaces)
  let previous = new NumberSet(1)

  function turn(nowMs: number): void {
    previous = nowMs - begunAtMs < 2 * generationMs ? current : new NumberSet(1)
    current = new NumberSet(firstPlaces)
    begunAtMs = nowMs
  }
  return {
    spend(hash) {
      const nowMs = clock.now().getTime()
      if (nowMs - begunAtMs >= generationMs || nowMs < begunAtMs || current.size * 2 >= most) turn(nowMs)
      const number = numberOf(hash)
      if (current.has(number) || previous.has(number)) return false
      if (current.size * 2 >= current.places) current = current.grown()
      current.add(number)
      return true
    },
    get bytes() {
      return 8 * (current.places + previous.places)
    },
  }
}

/** Never 0, which stands for an empty place. */
function numberOf(hash: string): number {
  let number = 0
  for (let place = 0; place < 6; place++) number = number * 256 + hash.charCodeAt(place)
  return number * 32 + (hash.charCodeAt(6) & 31) + 1
}

/** Numbers as they are, beside each other: a tenth of what a Set takes. */
class NumberSet {
  readonly #table: Float64Array
  size = 0

  constructor(places: number) {
    this.#table = new Float64Array(places)
  }

  get places(): number {
    return this.#table.length
  }

  has(number: number): boolean {
    return this.size > 0 && this.#table[this.#find(number)] === number
  }

  add(number: number): void {
    this.#table[this.#find(number)] = number
    this.size += 1
  }

  grown(): NumberSet {
    const larger = new NumberSet(this.places * 2)
    for (const number of this.#table) if (number !== 0) larger.add(number)
    return larger
  }

  #find(number: number): number {
    const { places } = this
    let place = number % places
    while (this.#table[place] !== 0 && this.#table[place] !== number) place = (place + 1) % places
    return place
  }
}
