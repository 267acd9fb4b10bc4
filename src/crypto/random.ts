import { randomFillSync } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * The largest multiple of 62 that fits a byte: bytes at or above it are drawn again, so that no letter is
 * favoured.
 */
const fairLimit = 248

/**
 * The system's randomness comes in portions: a call for each token would cost more than the rest of the
 * token.
 */
const portion = Buffer.alloc(4096)
let used = portion.length

/** Each byte is handed out once and wiped. */
function drawByte(): number {
  if (used === portion.length) {
    randomFillSync(portion)
    used = 0
  }
  const byte = portion[used]!
  portion[used++] = 0
  return byte
}

/** Letters and digits, each drawn evenly. 43 of them hold 256 bits. */
export function randomLetters(length: number): string {
  let letters = ''
  while (letters.length < length) {
    const byte = drawByte()
    if (byte < fairLimit) letters += alphabet[byte % 62]
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
