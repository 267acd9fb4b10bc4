import { randomBytes } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The largest multiple of 62 that fits a byte: bytes at or above it are drawn again, so that no letter is favoured. */
const fairLimit = 248

/** Letters and digits, each drawn evenly from the system's randomness. 43 of them hold 256 bits. */
export function randomLetters(length: number): string {
  let letters = ''
  while (letters.length < length) {
    for (const byte of randomBytes(length + 8)) {
      if (byte < fairLimit && letters.length < length) letters += alphabet[byte % 62]
    }
  }
  return letters
}

/** The 256 bits of a digest as 43 letters and digits. */
export function lettersOf(digest: Buffer): string {
  let rest = BigInt(`0x${digest.toString('hex')}`)
  let letters = ''
  for (let position = 0; position < 43; position++) {
    letters += alphabet[Number(rest % 62n)]
    rest /= 62n
  }
  return letters
}
