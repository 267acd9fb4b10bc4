import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { check, chunkOf, drawPng, headOf, pngSignature, svgLogo } from '../../test/support/brand.ts'
import { checkImage, imageMostBytes } from './image.ts'

async function problemOf(bytes: Buffer | string): Promise<string> {
  const checked = await checkImage(Buffer.from(bytes as Buffer))
  assert.ok('problem' in checked, 'it was taken')
  return checked.problem
}

const end = chunkOf('IEND', Buffer.alloc(0))
const png = (...chunks: Buffer[]) => Buffer.concat([pngSignature, ...chunks])
const pixelsOf = (bytes: number) => chunkOf('IDAT', deflateSync(Buffer.alloc(bytes)))

test('a PNG keeps its pixels and loses everything else', async () => {
  const drawn = drawPng(40, 20)
  const words = chunkOf('tEXt', Buffer.from('Comment\0<script>alert(1)</script>'))
  const place = chunkOf('eXIf', Buffer.from('51.5,-0.1'))
  const idat = drawn.indexOf('IDAT') - 4
  const stuffed = Buffer.concat([drawn.subarray(0, idat), words, place, drawn.subarray(idat)])
  const checked = await check(stuffed)
  assert.deepEqual([checked.type, checked.width, checked.height], ['image/png', 40, 20])
  assert.doesNotMatch(checked.bytes.toString('latin1'), /script|51\.5|tEXt|eXIf/)
  const packed = (bytes: Buffer) => {
    const at = bytes.indexOf('IDAT')
    return inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)))
  }
  assert.deepEqual(packed(checked.bytes), packed(drawn))
  assert.deepEqual((await check(checked.bytes)).bytes, checked.bytes, 'written anew, it is the same')
})

test('a PNG with a page behind its end, or between its parts, is refused', async () => {
  const page = Buffer.from('<html><script>alert(1)</script></html>')
  assert.match(await problemOf(Buffer.concat([drawPng(4, 4), page])), /goes on after its end/)
  assert.match(await problemOf(Buffer.concat([drawPng(4, 4), end])), /goes on after its end/)
  assert.match(await problemOf(Buffer.concat([pngSignature, page])), /breaks off|damaged/)
})

test('a file that is a PNG and something else at once leaves as a PNG alone', async () => {
  const polyglot = png(
    headOf(2, 2),
    chunkOf(
      'IDAT',
      Buffer.concat([deflateSync(Buffer.alloc(18)), Buffer.from('<?php system($_GET[0]) ?>PK\x03\x04')]),
    ),
    end,
  )
  const checked = await checkImage(polyglot)
  if (!('problem' in checked)) assert.doesNotMatch(checked.bytes.toString('latin1'), /php|PK/)
  assert.match(
    await problemOf(Buffer.concat([Buffer.from('GIF89a'), drawPng(4, 4)])),
    /neither a PNG nor an SVG/,
  )
})

test('a PNG that lies about its size, or is damaged, is refused without being unpacked', async () => {
  assert.match(
    await problemOf(png(headOf(100_000, 100_000), pixelsOf(9), end)),
    /at most 1024 by 1024 pixels, and is 100000 by 100000/,
  )
  assert.match(await problemOf(png(headOf(0, 1), pixelsOf(1), end)), /at most/)
  const bomb = chunkOf('IDAT', deflateSync(Buffer.alloc(100_000_000)))
  assert.ok(bomb.length < imageMostBytes)
  assert.match(await problemOf(png(headOf(4, 4), bomb, end)), /other pixels than its head says/)
  assert.match(await problemOf(png(headOf(4, 4), pixelsOf(10), end)), /other pixels/)
  assert.match(await problemOf(png(headOf(4, 4, [8, 5, 0]), pixelsOf(10), end)), /colours that are unknown/)
  assert.match(await problemOf(png(headOf(4, 4, [8, 3, 0]), pixelsOf(20), end)), /no palette/)
  const palette = (bytes: number) => chunkOf('PLTE', Buffer.alloc(bytes))
  for (const bytes of [4, 771])
    assert.match(
      await problemOf(png(headOf(4, 4, [8, 3, 0]), palette(bytes), pixelsOf(20), end)),
      /a palette that is none/,
    )
  assert.equal((await check(png(headOf(4, 4, [8, 3, 0]), palette(6), pixelsOf(20), end))).width, 4)
  assert.match(await problemOf(png(headOf(4, 4), end)), /out of place/)
  assert.match(await problemOf(png(headOf(4, 4), headOf(4, 4), pixelsOf(68), end)), /out of place/)
  const hurt = drawPng(4, 4)
  hurt[40]! ^= 1
  assert.match(await problemOf(hurt), /damaged|breaks off/)
  assert.match(await problemOf(drawPng(4, 4).subarray(0, 50)), /breaks off/)
  assert.match(await problemOf(Buffer.alloc(imageMostBytes + 1)), /at most 200 KB/)
  assert.match(await problemOf(''), /must be a file/)
})

test('a PNG is judged by its head before anything behind it is read', async () => {
  const broken = Buffer.from('nothing that could be a part of it')
  assert.match(await problemOf(png(headOf(1_025, 1), broken)), /at most 1024 by 1024 pixels/)
  assert.match(await problemOf(png(headOf(1_024, 1_024, [16, 6, 0]), broken)), /16 bits a channel: use 8/)
  assert.match(await problemOf(png(headOf(1_024, 1_024, [8, 6, 0]), broken)), /breaks off|damaged/)
  assert.match(await problemOf(png(headOf(512, 512, [16, 6, 0]), broken)), /breaks off|damaged/)
})

test('an interlaced PNG is read pass by pass', async () => {
  // 1x1 to 8x8 in one byte a pixel: the passes of Adam7, each row with its filter.
  const passes = [
    [0, 0, 8, 8],
    [4, 0, 8, 8],
    [0, 4, 4, 8],
    [2, 0, 4, 4],
    [0, 2, 2, 4],
    [1, 0, 2, 2],
    [0, 1, 1, 2],
  ] as const
  for (const side of [1, 3, 5, 8]) {
    const bytes = passes.reduce((sum, [x, y, dx, dy]) => {
      const [width, height] = [Math.ceil((side - x) / dx), Math.ceil((side - y) / dy)]
      return sum + (width > 0 && height > 0 ? height * (1 + width) : 0)
    }, 0)
    assert.equal((await check(png(headOf(side, side, [8, 0, 1]), pixelsOf(bytes), end))).width, side)
    assert.match(
      await problemOf(png(headOf(side, side, [8, 0, 1]), pixelsOf(bytes + 1), end)),
      /other pixels/,
    )
  }
})

const svg = (inside: string, more = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"${more}>${inside}</svg>`

test('an SVG is written anew with its shapes and their paint', async () => {
  const drawn = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by a program -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" viewBox="0 0 120.4 30" class="logo">
<title>Acme</title><defs><linearGradient id="a"><stop offset="0" style="stop-color:#fff; stop-opacity:.5"/></linearGradient><linearGradient id="b" xlink:href="#a"/></defs>
<g transform="translate(1 2)" fill='url(#b)'><path d="M1,1 l5-5z" style="fill:none"/></g></svg>
`
  const { type, width, height, bytes } = await check(Buffer.from(drawn))
  assert.deepEqual([type, width, height], ['image/svg+xml', 120, 30])
  assert.equal(
    bytes.toString(),
    '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="30" viewBox="0 0 120.4 30"><defs><linearGradient id="a"><stop offset="0" stop-color="#fff" stop-opacity=".5"/></linearGradient><linearGradient id="b" href="#a"/></defs><g transform="translate(1 2)" fill="url(#b)"><path d="M1,1 l5-5z" fill="none"/></g></svg>',
  )
  assert.deepEqual((await check(bytes)).bytes, bytes, 'written anew, it is the same')
  assert.equal((await check(svgLogo('#7a1f5c'))).type, 'image/svg+xml')
})

const attacks: Record<string, string> = {
  'a script': svg('<script>alert(1)</script>'),
  'a script of another space': svg('<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>'),
  'an event': svg('<path d="M0 0" onload="alert(1)"/>'),
  'an event on the root': svg('', ' onload="alert(1)"'),
  'a link': svg('<a href="javascript:alert(1)"><path d="M0 0"/></a>'),
  'a foreign object': svg('<foreignObject><iframe src="https://evil.example"/></foreignObject>'),
  'an image from elsewhere': svg('<image href="https://evil.example/x.png"/>'),
  'a use of another file': svg('<use href="https://evil.example/x.svg#a"/>'),
  'a gradient of another file': svg('<linearGradient id="a" href="https://evil.example/x.svg#a"/>'),
  'paint from elsewhere': svg('<path d="M0 0" fill="url(https://evil.example/x)"/>'),
  'paint from elsewhere in a style': svg('<path d="M0 0" style="fill:url(//evil.example/x)"/>'),
  'an escaped address': svg('<path d="M0 0" style="fill:u\\72l(//evil.example)"/>'),
  'an entity for a sign': svg('<path d="M0 0" fill="&#117;rl(//evil.example)"/>'),
  'a style sheet': svg('<style>@import "https://evil.example/x.css"</style>'),
  'a style that is none of ours': svg('<path d="M0 0" style="behavior:url(#x)"/>'),
  'a style of many spaces': svg(`<path d="M0 0" style="fill:${' '.repeat(100_000)}:"/>`),
  'many spaces and no end': svg(`<path d="M0 0"${' '.repeat(100_000)}`),
  'a name without end': svg(`<path ${'a'.repeat(100_000)}`),
  'an animation': svg('<path d="M0 0"><animate attributeName="href" values="javascript:alert(1)"/></path>'),
  'a set': svg('<set attributeName="onmouseover" to="alert(1)"/>'),
  'an entity bomb':
    '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><title>&b;</title></svg>',
  'a file of the machine':
    '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg viewBox="0 0 1 1"><title>&x;</title></svg>',
  'raw text': svg('<title><![CDATA[<script>]]></title>'),
  'an instruction': `<?xml-stylesheet href="https://evil.example/x.css"?>${svg('')}`,
  'an instruction inside': svg('<?xml version="1.0"?>'),
  text: svg('Hello'),
  'a font': svg('<text font-family="x">Hello</text>'),
  'a clip in a clip': svg('<clipPath id="a"><path d="M0 0" clip-path="url(#a)"/></clipPath>'),
  'a filter': svg('<filter id="a"><feImage href="https://evil.example"/></filter>'),
  'another svg inside': svg(svg('')),
  'a foreign root': '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
  'a foreign space': '<svg xmlns="http://www.w3.org/1999/xhtml" viewBox="0 0 1 1"></svg>',
  'two roots': svg('') + svg(''),
  'words before it': `<html>${svg('')}`,
  'an attribute twice': svg('', ' fill="red" fill="blue"'),
  'no end': '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><g>',
  'no size': '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
  depth: svg('<g>'.repeat(40) + '</g>'.repeat(40)),
  'a crowd': svg('<path d=""/>'.repeat(5_001)),
  'a comment that hides': svg('<!-- -- ><script> -->'),
  'UTF-16': Buffer.from(`\ufeff${svg('')}`, 'utf16le').toString('latin1'),
}

for (const [what, text] of Object.entries(attacks)) {
  test(`an SVG with ${what} is refused`, async () => {
    assert.match(
      await problemOf(Buffer.from(text, what === 'UTF-16' ? 'latin1' : 'utf8')),
      /neither a PNG nor an SVG that can be used: it /,
    )
  })
}

test('whatever is taken as an SVG holds no sign of anything but shapes, and is read again as the same', async () => {
  const pieces = fc.constantFrom(
    ...[
      '<',
      '>',
      '/',
      '"',
      "'",
      '=',
      ' ',
      '&',
      ';',
      ':',
      '#',
      'url(',
      ')',
      '!--',
      '-->',
      '<g>',
      '</g>',
      '<path d="M0 0"/>',
      'on',
      'script',
      'style',
      'href',
      'fill',
      'javascript',
      '<title>',
      '</title>',
    ],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), fc.boolean(), async (parts, isInTag) => {
      const text = isInTag ? svg('', ` ${parts.join('')}`) : svg(parts.join(''))
      const checked = await checkImage(Buffer.from(text))
      if ('problem' in checked) return
      const written = checked.bytes.toString()
      assert.match(
        written,
        /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"( [\w-]+="[\w\s#%.,()+-]*")+(\/>|>(<\/?(g|path)( [\w-]+="[\w\s#%.,()+-]*")*\/?>)*<\/svg>)$/,
      )
      assert.deepEqual((await check(checked.bytes)).bytes, checked.bytes)
    }),
    { numRuns: 2_000 },
  )
})
