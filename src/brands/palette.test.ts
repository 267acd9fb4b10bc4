import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { Invalid } from '../problem.ts'
import { type Colours, houseAccent, houseBackground, modes } from '../vocabulary/brand.ts'
import { firstWords, parseBrandWords } from './brand-words.ts'
import { contrast, findContrastProblems, fixed, makePalette, printPalette } from './palette.ts'

const house: Colours = {
  accent: { light: houseAccent.light.colour, dark: houseAccent.dark.colour },
  background: houseBackground,
}

test('what is chosen and can be read is taken, with text and borders that can be read too', () => {
  const byte = fc.integer({ min: 0, max: 255 })
  const colour = fc.tuple(byte, byte, byte).map((parts) => `#${Buffer.from(parts).toString('hex')}`)
  const pale = fc.integer({ min: 215, max: 255 })
  const paper = fc.tuple(pale, pale, pale).map((parts) => `#${Buffer.from(parts).toString('hex')}`)
  const deep = fc.integer({ min: 0, max: 40 })
  const night = fc.tuple(deep, deep, deep).map((parts) => `#${Buffer.from(parts).toString('hex')}`)
  let taken = 0
  fc.assert(
    fc.property(colour, colour, paper, night, (one, other, light, dark) => {
      const colours = { accent: { light: one, dark: other }, background: { light, dark } }
      if (findContrastProblems(colours).length > 0) return
      taken++
      for (const mode of modes) {
        const palette = makePalette(colours, mode)
        for (const on of [palette.paper, palette.card]) {
          for (const text of [palette.ink, palette.faint, palette.act]) assert.ok(contrast(text, on) >= 4.5)
          assert.ok(contrast(palette.field, on) >= 3)
          assert.ok(contrast(fixed[mode].end, on) >= 4.5 && contrast(fixed[mode].money, on) >= 4.5)
        }
        assert.ok(contrast(palette['act-ink'], palette.act) >= 4.5)
        const { good, 'good-paper': goodPaper } = fixed[mode]
        for (const text of [palette.ink, palette.faint, good]) assert.ok(contrast(text, goodPaper) >= 4.5)
        assert.ok(contrast(good, palette.paper) >= 3)
      }
    }),
    { numRuns: 3_000 },
  )
  assert.ok(taken > 50, `${taken} were taken`)
  assert.deepEqual(findContrastProblems(house), [])
})

test('a pair that is too near is named with its ratio, and nothing is saved', () => {
  const typed = { ...firstWords, shortName: 'Acme', legalName: 'Acme Ltd', accentLight: '#8fd3c0' }
  const read = (words: object) => parseBrandWords((name) => (words as Record<string, string>)[name])
  assert.throws(
    () => read(typed),
    (error: Invalid) => {
      assert.ok(error instanceof Invalid)
      assert.deepEqual(error.fields, [
        {
          field: 'accentLight',
          problem:
            'is hard to read: links in this colour (#8fd3c0) on “Background, light” (#f6f7f4) has a contrast of 1.59 to 1, and WCAG AA asks for 4.5 to 1',
        },
      ])
      return true
    },
  )
  assert.throws(
    () => read({ ...typed, accentLight: '#0f5c4d', backgroundLight: '#777777' }),
    /backgroundLight is hard to read: .*on this background \(#777777\)/,
  )
  assert.equal(read({ ...typed, accentLight: ' #0F5C4D ' }).accentLight, '#0f5c4d')
})

test('no field takes markup, another scheme, or a line of a header', () => {
  const good = { ...firstWords, shortName: 'Acme', legalName: 'Acme Ltd' }
  const wrong: [string, string][] = [
    ['accentLight', 'red; } body { display: none'],
    ['helpUrl', 'javascript:alert(1)'],
    ['helpUrl', 'http://example.com'],
    ['privacyUrl', 'https://user:pass@example.com'],
    ['termsUrl', 'https://example.com/"><script>'],
    ['securityContact', 'nobody'],
    ['phone', 'call me'],
    ['mailSender', 'Acme\r\nBcc: all@example.com <a@example.com>'],
    ['mailReplyTo', 'a@example.com, b@example.com'],
    ['shortName', 'x'.repeat(41)],
    ['legalName', 'A\u202ecme'],
    ['mailFooter', 'x'.repeat(1_001)],
  ]
  for (const [name, text] of wrong) {
    const words: Record<string, unknown> = { ...good, [name]: text }
    assert.throws(
      () => parseBrandWords((each) => words[each] as string),
      (error: Invalid) => error.fields?.[0]?.field === name,
      `${name}: ${text}`,
    )
  }
})

test('what means the same under every brand is what the style sheet says', () => {
  const [day, night] = readFileSync('public/countersign.css', 'utf8').split(
    '@media (prefers-color-scheme: dark)',
  ) as [string, string]
  for (const [mode, text] of [
    ['light', day],
    ['dark', night],
  ] as const) {
    for (const [name, colour] of Object.entries(fixed[mode]))
      assert.ok(text.includes(`--${name}: ${colour};`), `${mode} ${name}`)
    assert.ok(text.includes(`--paper: ${houseBackground[mode]};`), mode)
  }
})

test('the style sheet of a brand has colours and nothing else', () => {
  assert.match(
    printPalette(house),
    /^:root \{( --[a-z-]+: #[0-9a-f]{6};)+ \}\n@media \(prefers-color-scheme: dark\) \{ :root \{( --[a-z-]+: #[0-9a-f]{6};)+ \} \}\n$/,
  )
  assert.doesNotMatch(printPalette(house, 'dark'), /@media/)
})
