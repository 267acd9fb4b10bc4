/**
 * Which proofs were taken at resources by the processes of this node, so that none is taken twice: each tells the
 * others what it took, and waits for none of them. They stand in tables, one behind the other; a table is left when it
 * is half full or a minute old, and forgotten when nothing in it would be taken any more, or when there is no room for
 * another (docs/security.md). None is ever copied into a larger one: a request would have to wait for that. A number
 * of 53 bits stands for a proof: that another one has the same happens once in a billion.
 */
import { type Clock, minute } from '../clock.ts'
import { proofLivesMs } from './dpop.ts'

const tableMs = minute
const firstPlaces = 4_096
/** 10,000 a second and their tables: 8 bytes each. */
const mostPlaces = 8 * 1_048_576

export interface SpentProofs {
  /** False where it was taken before. `hash` is a character a byte. */
  spend(hash: string): boolean
  /** What another process took. */
  learn(number: number): void
  readonly bytes: number
}

interface SpentProofsOptions {
  /** Called with each that is taken here. */
  readonly tell?: (number: number) => void
  readonly most?: number
}

interface Generation {
  readonly numbers: NumberSet
  readonly openedAtMs: number
  leftAtMs: number
}

export function openSpentProofs(
  clock: Clock,
  { tell = () => {}, most = mostPlaces }: SpentProofsOptions = {},
): SpentProofs {
  let current = openGeneration(firstPlaces, clock.now().getTime())
  let former: readonly Generation[] = []
  const places = () => former.reduce((sum, { numbers }) => sum + numbers.places, current.numbers.places)

  function turn(nowMs: number, wanted: number): void {
    current.leftAtMs = nowMs
    former = [current, ...former].filter(({ leftAtMs }) => nowMs < leftAtMs + proofLivesMs)
    current = openGeneration(Math.min(wanted, most / 4), nowMs)
    while (places() > most) former = former.slice(0, -1)
  }
  /** False where it is there already. */
  function add(number: number): boolean {
    const nowMs = clock.now().getTime()
    const { numbers, openedAtMs } = current
    const isOld = nowMs >= openedAtMs + tableMs
    if (isOld) turn(nowMs, placesFor(numbers.size))
    else if (numbers.isHalfFull) turn(nowMs, numbers.places * 2)
    if (current.numbers.has(number)) return false
    for (const { numbers: each } of former) if (each.has(number)) return false
    current.numbers.add(number)
    return true
  }

  return {
    spend(hash) {
      const number = numberOf(hash)
      const isNew = add(number)
      if (isNew) tell(number)
      return isNew
    },
    learn: add,
    get bytes() {
      return Float64Array.BYTES_PER_ELEMENT * places()
    },
  }
}

function openGeneration(places: number, nowMs: number): Generation {
  return { numbers: new NumberSet(places), openedAtMs: nowMs, leftAtMs: Number.POSITIVE_INFINITY }
}

/** As many as before, and half as many again, fill half of them. */
function placesFor(size: number): number {
  return Math.max(firstPlaces, 2 ** Math.ceil(Math.log2(size * 3)))
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

  get isHalfFull(): boolean {
    return this.size * 2 >= this.places
  }

  has(number: number): boolean {
    return this.#table[this.#find(number)] === number
  }

  add(number: number): void {
    this.#table[this.#find(number)] = number
    this.size += 1
  }

  #find(number: number): number {
    const { places } = this
    let place = number % places
    while (this.#table[place] !== 0 && this.#table[place] !== number) place = (place + 1) % places
    return place
  }
}
