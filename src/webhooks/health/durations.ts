/**
 * How long things took, counted in cells (a histogram): each cell holds what took less than its edge and no
 * less than the one before. Cells are a fifth wider than the one before, so that a quantile is right to a
 * tenth. Counts can be added up, over minutes, webhooks and nodes, as quantiles cannot.
 */
const steps = [1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2]
/**
 * Milliseconds: up to ten seconds, within which receivers answer, by these steps; beyond, up to eleven days,
 * by every second one.
 */
const edges: readonly number[] = [
  ...new Set([0, 1, 2, 3].flatMap((power) => steps.map((step) => Math.round(step * 10 ** power)))),
  ...[4, 5, 6, 7, 8].flatMap((power) =>
    steps.filter((_, index) => index % 2 === 0).map((step) => Math.round(step * 10 ** power)),
  ),
]

/** A number for each cell; what is missing at the end is 0. */
export type Cells = number[]

export function addDuration(cells: Cells, ms: number): void {
  const cell = cellOf(ms)
  while (cells.length <= cell) cells.push(0)
  cells[cell]!++
}

export function addCells(cells: Cells, more: readonly number[]): void {
  while (cells.length < more.length) cells.push(0)
  for (const [cell, count] of more.entries()) cells[cell]! += count
}

/**
 * The same for an array as PostgreSQL prints it, `{0,12,3}`, read digit by digit: charts add up thousands of
 * them.
 */
export function addPrinted(cells: Cells, printed: string): void {
  if (printed === '{}') return
  let cell = 0
  let count = 0
  for (let place = 1; place < printed.length; place++) {
    const digit = printed.charCodeAt(place) - zero
    if (digit >= 0 && digit <= 9) count = count * 10 + digit
    else {
      cells[cell] = (cells[cell] ?? 0) + count
      cell++
      count = 0
    }
  }
}

const zero = '0'.charCodeAt(0)

/** The first whose edge lies beyond; what took longer than anything does is in the last. */
function cellOf(ms: number): number {
  let low = 0
  let high = edges.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (edges[middle]! > ms) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Within how many milliseconds this share of them was over, as if those of a cell were spread evenly over it;
 * null when there are none.
 */
export function quantileOf(cells: readonly number[], share: number): number | null {
  const all = cells.reduce((sum, count) => sum + count, 0)
  let left = share * all
  for (const [cell, count] of cells.entries()) {
    if (count > 0 && left <= count) return Math.round(edgeBefore(cell) + (widthOf(cell) * left) / count)
    left -= count
  }
  return null
}

const edgeBefore = (cell: number) => edges[cell - 1] ?? 0
const widthOf = (cell: number) => edges[cell]! - edgeBefore(cell)
