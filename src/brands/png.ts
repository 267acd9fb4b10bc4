/**
 * PNG (W3C, third edition), read to the last byte and written anew: its head, its palette, its transparency
 * and its pixels. Whatever else stands in the file is left behind, and one that goes on after its end is
 * refused.
 */
import { promisify } from 'node:util'
import { crc32, deflate, inflate } from 'node:zlib'
import { ImageRefusal, type ReencodedImage } from './reencoded-image.ts'

const inflateAsync = promisify(inflate)
const deflateAsync = promisify(deflate)

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const sideMostPixels = 1_024
/** Of as many pixels as it may have, with 8 bits for each of four channels. */
const pixelMostBytes = 4 * sideMostPixels ** 2

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

export interface Head {
  readonly width: number
  readonly height: number
  readonly bitsPerPixel: number
  readonly colourType: number
  readonly isInterlaced: boolean
}

interface UnpackedPng {
  readonly head: Head
  readonly chunks: readonly Chunk[]
  readonly palette: Buffer | undefined
  readonly transparency: Buffer | undefined
  /** Row by row, each after the number of its filter. */
  readonly pixels: Buffer
}

export async function unpackPng(bytes: Buffer): Promise<UnpackedPng> {
  refuse(!bytes.subarray(0, 8).equals(signature), 'does not begin like one')
  // Before anything else of it: what it would unpack to is what it costs.
  const head = readHead(readChunk(bytes, 8))
  const chunks = readChunks(bytes)
  const pixels = await readPixels(head, Buffer.concat(chunks.filter(isPixels).map(({ data }) => data)))
  const dataOf = (type: string) => chunks.find((chunk) => chunk.type === type)?.data
  return { head, chunks, palette: dataOf('PLTE'), transparency: dataOf('tRNS'), pixels }
}

export async function readPng(bytes: Buffer): Promise<ReencodedImage> {
  const { head, chunks, palette, pixels } = await unpackPng(bytes)
  const kept = chunks.filter(({ type }) => type === 'IHDR' || type === 'PLTE' || type === 'tRNS')
  checkPalette(head, palette)
  const written = [
    ...kept,
    { type: 'IDAT', data: await deflateAsync(pixels, { level: 9 }) },
    { type: 'IEND', data: Buffer.alloc(0) },
  ]
  return {
    width: head.width,
    height: head.height,
    bytes: Buffer.concat([signature, ...written.map(writeChunk)]),
  }
}

const isPixels = ({ type }: Chunk) => type === 'IDAT'

function refuse(isWrong: boolean, why: string): void {
  if (isWrong) throw refusal(why)
}

const refusal = (why: string) => new ImageRefusal(`is not a PNG that can be used: it ${why}`)

/** Three bytes a colour, of 256 at most. */
function checkPalette({ colourType }: Head, palette: Buffer | undefined): void {
  refuse(colourType === 3 && !palette, 'has no palette')
  const bytes = palette?.length ?? 0
  refuse(bytes % 3 !== 0 || bytes > 768, 'has a palette that is none')
}

function readChunks(bytes: Buffer): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = 8; at < bytes.length; ) {
    refuse(chunks.at(-1)?.type === 'IEND', 'goes on after its end')
    const chunk = readChunk(bytes, at)
    at += 12 + chunk.data.length
    chunks.push(chunk)
  }
  const last = chunks.at(-1)
  refuse(last?.type !== 'IEND' || last.data.length > 0, 'breaks off')
  checkOrder(chunks.map(({ type }) => type))
  return chunks
}

function readChunk(bytes: Buffer, at: number): Chunk {
  refuse(at + 12 > bytes.length, 'breaks off')
  const length = bytes.readUInt32BE(at)
  refuse(at + 12 + length > bytes.length, 'breaks off')
  const type = bytes.toString('latin1', at + 4, at + 8)
  refuse(!/^[A-Za-z]{4}$/.test(type), 'is damaged')
  const checked = crc32(bytes.subarray(at + 4, at + 8 + length))
  refuse(checked !== bytes.readUInt32BE(at + 8 + length), 'is damaged')
  return { type, data: bytes.subarray(at + 8, at + 8 + length) }
}

/**
 * What has to be understood begins with a capital: of those, each that we know, once, in their order; pixels
 * stand together.
 */
function checkOrder(types: readonly string[]): void {
  const critical = types.filter((type) => /^[A-Z]/.test(type) || type === 'tRNS')
  refuse(
    !/^IHDR( PLTE)?( tRNS)?( IDAT)+ IEND$/.test(critical.join(' ')),
    'has parts that are unknown or out of place',
  )
  const first = types.indexOf('IDAT')
  const last = types.lastIndexOf('IDAT')
  refuse(
    types.slice(first, last).some((type) => type !== 'IDAT'),
    'has pixels in two places',
  )
}

const colourTypes = new Map([
  [0, { channels: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { channels: 3, depths: [8, 16] }],
  [3, { channels: 1, depths: [1, 2, 4, 8] }],
  [4, { channels: 2, depths: [8, 16] }],
  [6, { channels: 4, depths: [8, 16] }],
])

function readHead({ type, data }: Chunk): Head {
  refuse(type !== 'IHDR' || data.length !== 13, 'has no head')
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)]
  const [depth, colourType] = [data.readUInt8(8), data.readUInt8(9)]
  const [compression, filter, interlace] = [data.readUInt8(10), data.readUInt8(11), data.readUInt8(12)]
  const { channels, depths } = colourTypes.get(colourType) ?? { channels: 0, depths: [] }
  refuse(!depths.includes(depth), 'has colours that are unknown')
  refuse(compression !== 0 || filter !== 0 || interlace > 1, 'is packed in a way that is unknown')
  if (width < 1 || height < 1 || width > sideMostPixels || height > sideMostPixels)
    throw new ImageRefusal(
      `must be at most ${sideMostPixels} by ${sideMostPixels} pixels, and is ${width} by ${height}`,
    )
  const bitsPerPixel = channels * depth
  if ((width * height * bitsPerPixel) / 8 > pixelMostBytes)
    throw new ImageRefusal(`has ${depth} bits a channel: use 8, or fewer pixels than ${width} by ${height}`)
  return { width, height, bitsPerPixel, colourType, isInterlaced: interlace === 1 }
}

/** Unpacked to exactly as many bytes as the head promises, whatever the file would unpack to. */
async function readPixels(head: Head, packed: Buffer): Promise<Buffer> {
  const rows = passesOf(head).flatMap(([width, height]) =>
    Array.from({ length: height }, () => 1 + Math.ceil((width * head.bitsPerPixel) / 8)),
  )
  const expected = rows.reduce((sum, length) => sum + length, 0)
  const pixels = await unpack(packed, expected)
  let at = 0
  for (const length of rows) {
    refuse(pixels.readUInt8(at) > 4, 'is damaged')
    at += length
  }
  return pixels
}

async function unpack(packed: Buffer, expected: number): Promise<Buffer> {
  const [unpacked] = await Promise.allSettled([inflateAsync(packed, { maxOutputLength: expected + 1 })])
  if (unpacked.status === 'fulfilled' && unpacked.value.length === expected) return unpacked.value
  throw refusal('has other pixels than its head says')
}

/** Adam7: seven passes, each a smaller picture; without it, one. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

export function passesOf({ width, height, isInterlaced }: Head): (readonly [number, number])[] {
  if (!isInterlaced) return [[width, height]]
  return adam7
    .map(([x, y, stepX, stepY]) => [Math.ceil((width - x) / stepX), Math.ceil((height - y) / stepY)] as const)
    .filter(([passWidth, passHeight]) => passWidth > 0 && passHeight > 0)
}

function writeChunk({ type, data }: Chunk): Buffer {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length, 0)
  whole.write(type, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}
