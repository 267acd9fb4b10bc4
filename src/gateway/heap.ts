/**
 * V8 lets garbage of the old generation wait until the heap is four times what is alive. As much again is
 * enough to wait for.
 */
import { setFlagsFromString } from 'node:v8'

const growingPercent = 100

/** For the whole process. Read whenever V8 has collected, so that it can be said while running. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`)
}
