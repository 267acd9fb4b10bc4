/**
 * A second brokerage, with a name, colours and logos of its own, and pictures as somebody might upload them.
 */
import { crc32, deflateSync } from 'node:zlib'
import { activateDraft, saveDraft, setDraftImage } from '../../src/brands/brand-acts.ts'
import type { BrandWords } from '../../src/brands/brand-row.ts'
import { type CheckedImage, checkImage } from '../../src/brands/image.ts'
import type { Brand } from '../../src/vocabulary/brand.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import type { TestGateway } from './gateway.ts'

export const secondWords: BrandWords = {
  shortName: 'Northwind',
  legalName: 'Northwind Securities Ltd',
  accentLight: '#7a1f5c',
  accentDark: '#f09ad0',
  backgroundLight: '#faf5f8',
  backgroundDark: '#170f14',
  helpUrl: 'https://www.northwind.example/help',
  privacyUrl: 'https://www.northwind.example/privacy',
  termsUrl: 'https://www.northwind.example/terms',
  securityContact: 'security@northwind.example',
  phone: '+1 555 010 0199',
  mailSender: 'Northwind Notices <notices@northwind.example>',
  mailReplyTo: 'help@northwind.example',
  mailFooter: 'Northwind Securities Ltd, 1 Harbour Street, Springfield',
}

export function chunkOf(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length, 0)
  whole.write(type, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export function headOf(width: number, height: number, [depth, colourType, interlace] = [8, 6, 0]): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([depth!, colourType!, 0, 0, interlace!], 8)
  return chunkOf('IHDR', head)
}

/** A rounded bar in one colour, which is seen on light pages and on dark ones. */
export function drawPng(width: number, height: number, [red, green, blue] = [190, 60, 140]): Buffer {
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(1 + 4 * width)
    for (let x = 0; x < width; x++)
      row.set([red!, green!, blue!, isInside(x, y, width, height) ? 255 : 0], 1 + 4 * x)
    return row
  })
  const pixels = chunkOf('IDAT', deflateSync(Buffer.concat(rows)))
  return Buffer.concat([pngSignature, headOf(width, height), pixels, chunkOf('IEND', Buffer.alloc(0))])
}

function isInside(x: number, y: number, width: number, height: number): boolean {
  const radius = height / 2
  const away = Math.max(0, radius - x, x - (width - radius))
  return away ** 2 + (y - radius) ** 2 <= radius ** 2
}

/** Seen on light pages and on dark ones, in the colour that it has by itself. */
export const svgLogo = (colour = '#be3c8c') =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 32"><path d="M16 2 30 30H2z" fill="${colour}"/><g fill="none" stroke="${colour}" stroke-width="4" stroke-linecap="round"><path d="M44 26V6l14 20V6"/><circle cx="78" cy="16" r="9"/><path d="M96 26V6h7a6 6 0 0 1 0 12h-7m7 0 6 8M116 6h16m-8 0v20M140 6v20m14-20v20m-14-10h14"/></g></svg>`,
  )

export async function check(bytes: Buffer): Promise<CheckedImage> {
  const image = await checkImage(bytes)
  if ('problem' in image) throw new Error(image.problem)
  return image
}

interface SecondBrand {
  readonly words?: Partial<BrandWords>
  readonly images?: boolean
}

/** In force from here on, on this site. */
export async function putSecondBrandInForce(
  house: TestGateway,
  environment: Environment,
  { words = {}, images = true }: SecondBrand = {},
): Promise<void> {
  const { db } = house.gateway.context
  const draft = await saveDraft(db, environment, { ...secondWords, ...words }, 0, house.act())
  let { version } = draft
  const pictures = [
    ['logoLight', svgLogo('#7a1f5c')],
    ['logoDark', svgLogo('#f09ad0')],
    ['favicon', drawPng(32, 32)],
  ] as const
  for (const [place, bytes] of images ? pictures : []) {
    await setDraftImage(db, environment, place, await check(bytes), house.act())
    version++
  }
  await activateDraft(db, environment, version, house.act())
}

export function brandInForce(house: TestGateway, environment: Environment): Promise<Brand> {
  return Promise.resolve(house.gateway.context.brands.find(environment))
}
