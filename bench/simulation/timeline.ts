/** Simulated time, in microseconds: what happens, in the order in which it does. At the same moment, what was planned first. */
interface Planned {
  readonly at: number
  readonly place: number
  readonly happen: () => void
}

export interface Timeline {
  readonly nowUs: number
  after(delayUs: number, happen: () => void): void
  runUntil(endUs: number): void
}

export function openTimeline(): Timeline {
  const heap: Planned[] = []
  let nowUs = 0
  let places = 0
  return {
    get nowUs() {
      return nowUs
    },
    after(delayUs, happen) {
      push(heap, { at: nowUs + delayUs, place: places++, happen })
    },
    runUntil(endUs) {
      while (heap.length > 0 && heap[0]!.at <= endUs) {
        const next = pop(heap)
        nowUs = next.at
        next.happen()
      }
      nowUs = endUs
    },
  }
}

function isEarlier(left: Planned, right: Planned): boolean {
  return left.at < right.at || (left.at === right.at && left.place < right.place)
}

function push(heap: Planned[], planned: Planned): void {
  let place = heap.push(planned) - 1
  while (place > 0) {
    const parent = (place - 1) >> 1
    if (!isEarlier(planned, heap[parent]!)) break
    heap[place] = heap[parent]!
    place = parent
  }
  heap[place] = planned
}

function pop(heap: Planned[]): Planned {
  const first = heap[0]!
  const last = heap.pop()!
  if (heap.length === 0) return first
  let place = 0
  for (;;) {
    let child = 2 * place + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isEarlier(heap[child + 1]!, heap[child]!)) child++
    if (!isEarlier(heap[child]!, last)) break
    heap[place] = heap[child]!
    place = child
  }
  heap[place] = last
  return first
}
