/**
 * Loaded into a node before anything else: each SIGUSR2 moves the wall clock that its JavaScript sees to the
 * next of the jumps.
 */
const jumpsMs = (process.env.CLOCK_JUMPS_MS ?? '').split(',').map(Number)
const trueNow = Date.now
const TrueDate = Date
let aheadMs = 0

process.on('SIGUSR2', () => {
  aheadMs = jumpsMs.shift() ?? 0
})

class JumpingDate extends TrueDate {
  constructor(...words: [] | [number | string | Date]) {
    if (words.length === 0) super(trueNow() + aheadMs)
    else super(...words)
  }

  static override now(): number {
    return trueNow() + aheadMs
  }
}

globalThis.Date = JumpingDate as DateConstructor
