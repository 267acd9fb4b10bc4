const letters = 'bcdfghjklmnpqrst'
let made = 0

/**
 * A word of ten letters that was not made before in this process, the same in every run. Without digits and
 * vowels: no number and no word that a test looks for is in it, or begins it.
 */
export function makeUpWord(): string {
  const digits = (++made).toString(16).padStart(10, '0')
  return digits.replace(/./g, (digit) => letters[Number.parseInt(digit, 16)]!)
}
