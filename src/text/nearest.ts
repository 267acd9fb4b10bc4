/** What somebody meant who mistyped a word: the known word that takes the fewest edits. */

/** Undefined when nothing is near: a wrong guess is worse than none. */
export function findNearest(typed: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined
  let fewest = 1 + Math.max(1, Math.floor(typed.length / 3))
  for (const word of new Set(known)) {
    const edits = countEdits(typed, word)
    if (edits >= fewest) continue
    fewest = edits
    nearest = word
  }
  return nearest
}

export function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`
}

/** Letters put in, left out or replaced, and neighbours that changed places (optimal string alignment). */
export function countEdits(one: string, other: string): number {
  let before: number[] = []
  let previous = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const differs = one[row - 1] === other[column - 1] ? 0 : 1
      const replaced = previous[column - 1]! + differs
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
          ? before[column - 2]! + 1
          : Infinity
      current.push(Math.min(previous[column]! + 1, current[column - 1]! + 1, replaced, swapped))
    }
    before = previous
    previous = current
  }
  return previous[other.length]!
}
