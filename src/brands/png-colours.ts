/** The colours of a PNG that has been read and written anew, each with how much of the picture it paints. */
import { type Head, passesOf, unpackPng } from './png.ts'

/** By `#rrggbb`, in pixels; one that is half transparent counts half. */
export type PaintedColours = ReadonlyMap<string, number>

export async function coloursOfPng(bytes: Buffer): Promise<PaintedColours> {
  const { head, palette, transparency, pixels } = await unpackPng(bytes)
  const counted = new Map<number, number>()
  const count = (red: number, green: number, blue: number, alpha: number) => {
    if (alpha === 0) return
    // Sixteen steps of each part: what is nearly the same is the same.
    const key = ((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4)
    counted.set(key, (counted.get(key) ?? 0) + alpha / 255)
  }
  const read = readerOf(head, palette, transparency)
  let at = 0
  for (const [width, height] of passesOf(head)) {
    const length = Math.ceil((width * head.bitsPerPixel) / 8)
    let above = Buffer.alloc(length)
    for (let row = 0; row < height; row++) {
      const line = unfilter(pixels.readUInt8(at), pixels.subarray(at + 1, at + 1 + length), above, head)
      for (let x = 0; x < width; x++) read(line, x, count)
      at += 1 + length
      above = line
    }
  }
  return new Map([...counted].map(([key, pixels]) => [printKey(key), pixels]))
}

/** Of each step the end that it is nearest to: black stays black, and white white. */
function printKey(key: number): string {
  const parts = [key >> 8, (key >> 4) & 15, key & 15]
  return `#${parts.map((part) => (part * 17).toString(16).padStart(2, '0')).join('')}`
}

/** PNG, 9: each byte is the difference to one that is foretold from its neighbours. */
function unfilter(kind: number, line: Buffer, above: Buffer, { bitsPerPixel }: Head): Buffer<ArrayBuffer> {
  const step = Math.max(1, bitsPerPixel / 8)
  const plain = Buffer.alloc(line.length)
  for (let at = 0; at < line.length; at++) {
    const left = at < step ? 0 : plain[at - step]!
    const up = above[at]!
    const corner = at < step ? 0 : above[at - step]!
    plain[at] = line[at]! + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind]!
  }
  return plain
}

function paeth(left: number, up: number, corner: number): number {
  const foretold = left + up - corner
  const [byLeft, byUp, byCorner] = [left, up, corner].map((each) => Math.abs(foretold - each)) as [
    number,
    number,
    number,
  ]
  if (byLeft <= byUp && byLeft <= byCorner) return left
  return byUp <= byCorner ? up : corner
}

type Count = (red: number, green: number, blue: number, alpha: number) => void

function readerOf(
  { bitsPerPixel, colourType }: Head,
  palette: Buffer | undefined,
  transparency: Buffer | undefined,
): (line: Buffer, x: number, count: Count) => void {
  const channels = channelsOf[colourType]!
  const bits = bitsPerPixel / channels
  const most = 2 ** bits - 1
  /** Of 8 bits, whatever the depth. */
  const sample = (line: Buffer, n: number) => {
    if (bits >= 8) return line[n * (bits / 8)]!
    const inByte = (line[(n * bits) >> 3]! >> (8 - bits - ((n * bits) & 7))) & most
    return colourType === 3 ? inByte : Math.round((inByte * 255) / most)
  }
  return (line, x, count) => {
    const at = x * channels
    if (colourType === 3) {
      const index = sample(line, at)
      const part = (n: number) => palette?.[3 * index + n] ?? 0
      return count(part(0), part(1), part(2), transparency?.[index] ?? 255)
    }
    const isGrey = channels < 3
    const red = sample(line, at)
    const [green, blue] = isGrey ? [red, red] : [sample(line, at + 1), sample(line, at + 2)]
    const hasAlpha = channels === 2 || channels === 4
    const isClear =
      !hasAlpha && transparency !== undefined && isThis(transparency, [red, green, blue], isGrey, most)
    return count(red, green, blue, hasAlpha ? sample(line, at + channels - 1) : isClear ? 0 : 255)
  }
}

const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

/** The one colour that is transparent, where there is no channel for it; two bytes a sample. */
function isThis(transparency: Buffer, colour: readonly number[], isGrey: boolean, most: number): boolean {
  const parts = isGrey ? colour.slice(0, 1) : colour
  return parts.every((part, n) => {
    const value = transparency.length >= 2 * n + 2 ? transparency.readUInt16BE(2 * n) : -1
    return Math.round((value * 255) / (most > 255 ? 65_535 : most)) === part
  })
}
