import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { chunkOf, drawPng, headOf, pngSignature, svgLogo } from '../../test/support/brand.ts'
import { describeFaintLogo, shareSeen } from './logo.ts'
import { coloursOfPng } from './png-colours.ts'
import { coloursOfSvg } from './svg-colours.ts'

const [light, dark] = ['#ffffff', '#16201d']

/** Rows as a file has them: each begins with the number of its filter. */
function png(head: Buffer, rows: readonly (readonly number[])[], ...more: Buffer[]): Buffer {
  const pixels = chunkOf('IDAT', deflateSync(Buffer.from(rows.flat())))
  return Buffer.concat([pngSignature, head, ...more, pixels, chunkOf('IEND', Buffer.alloc(0))])
}

test('a logo is seen where at least half of what it paints stands out, as PNG and as SVG', async () => {
  const black = await coloursOfPng(drawPng(60, 20, [10, 10, 10]))
  assert.equal(shareSeen(black, light), 1)
  assert.equal(shareSeen(black, dark), 0)
  assert.equal(shareSeen(coloursOfSvg(svgLogo('#7a1f5c')), light), 1)
  assert.equal(shareSeen(coloursOfSvg(svgLogo('#7a1f5c')), dark), 0)
  assert.equal(shareSeen(coloursOfSvg(svgLogo('#f09ad0')), light), 0)
  const half = coloursOfSvg(
    Buffer.from(
      '<svg viewBox="0 0 9 9"><path d="M0 0h9v9z" fill="#111"/><g fill="rgb(240, 154, 208)"><path d="M0 0h9v9z"/></g></svg>',
    ),
  )
  assert.equal(shareSeen(half, light), 0.5)
})

test('whatever way a PNG is packed in, its colours are the same', async () => {
  const palette = chunkOf('PLTE', Buffer.from([255, 0, 0, 0, 0, 255]))
  const clear = chunkOf('tRNS', Buffer.from([0]))
  // Two bits: red, blue, blue, red; red is transparent.
  const indexed = await coloursOfPng(png(headOf(4, 1, [2, 3, 0]), [[0, 0b00_01_01_00]], palette, clear))
  assert.deepEqual([...indexed], [['#0000ff', 2]])
  const grey = await coloursOfPng(png(headOf(8, 1, [1, 0, 0]), [[0, 0b1111_0000]]))
  assert.deepEqual(
    [...grey],
    [
      ['#ffffff', 4],
      ['#000000', 4],
    ],
  )
  const deep = await coloursOfPng(png(headOf(1, 1, [16, 6, 0]), [[0, 255, 255, 0, 0, 0, 0, 255, 255]]))
  assert.deepEqual([...deep], [['#ff0000', 1]])
  const rest = (filter: number, first: number[], second: number[]) =>
    png(headOf(2, 2, [8, 2, 0]), [
      [0, 255, 0, 0, 255, 0, 0],
      [filter, ...first, ...second],
    ])
  const same = [
    rest(1, [255, 0, 0], [0, 0, 0]),
    rest(2, [0, 0, 0], [0, 0, 0]),
    rest(3, [128, 0, 0], [0, 0, 0]),
    rest(4, [0, 0, 0], [0, 0, 0]),
  ]
  for (const bytes of same) assert.deepEqual([...(await coloursOfPng(bytes))], [['#ff0000', 4]])
})

test('a colour of an SVG is found where it is inherited or of a gradient, and one that is not known is not held against it', () => {
  const colours = (inner: string) => [
    ...coloursOfSvg(Buffer.from(`<svg viewBox="0 0 9 9">${inner}</svg>`)).keys(),
  ]
  assert.deepEqual(colours('<path d="M0 0"/>'), ['#000000'])
  assert.deepEqual(colours('<g color="#abc" fill="currentColor"><rect/></g>'), ['#aabbcc'])
  assert.deepEqual(
    colours(
      '<defs><linearGradient id="a"><stop stop-color="white"/></linearGradient></defs><rect fill="url(#a)"/>',
    ),
    ['#ffffff'],
  )
  assert.deepEqual(colours('<rect fill="none"/><clipPath id="c"><rect/></clipPath>'), [])
  assert.deepEqual(colours('<rect fill="constructor"/>'), ['unknown'], 'what every object has is no colour')
  assert.equal(
    shareSeen(coloursOfSvg(Buffer.from('<svg viewBox="0 0 9 9"><rect fill="rebeccapurple"/></svg>')), dark),
    1,
  )
})

test('what is said of a faint logo names the field to mend', () => {
  assert.equal(
    describeFaintLogo({ mode: 'dark', paper: dark, isBorrowed: true }),
    'The logo for light pages, which stands on dark ones as well, can hardly be seen on dark pages (#16201d): less than half of it has a contrast of 3 to 1. Upload another as “Logo, dark”.',
  )
})
