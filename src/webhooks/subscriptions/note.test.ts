/** Which characters a note may hold: by code in the pattern, by what Unicode says of them here. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLineProblem, findNoteProblem, linePattern, noteCharacters, textPattern } from './note.ts'

const isUnseen = (character: string) => /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u.test(character)

test('up to U+FFFF, what a note refuses is what Unicode calls control, format, private or a separator of lines', () => {
  for (let code = 0; code < 0x10000; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const character = String.fromCharCode(code)
    const isReserved = code === 0x2065 || (code >= 0xfff0 && code <= 0xfff8)
    const isRefused = isUnseen(character) || isReserved
    const name = `U+${code.toString(16)}`
    assert.equal(findLineProblem(`a${character}`) !== undefined, isRefused, name)
    assert.equal(
      findNoteProblem(`a${character}`) !== undefined,
      isRefused && !'\t\n\r'.includes(character),
      name,
    )
    // Of nothing but spaces there is nothing to read.
    assert.equal(findNoteProblem(character) !== undefined, isRefused || character.trim() === '', name)
  }
})

test('a note is counted in characters, may hold any script, and no half of a character', () => {
  for (const note of ['Zahlung doppelt', '請求書', 'a\nb', '😀'.repeat(noteCharacters), '𠮷野家'])
    assert.equal(findNoteProblem(note), undefined, note)
  for (const note of ['', ' ', '\u3000', 'a'.repeat(noteCharacters + 1), 'a\uD83D', '\uDE00'])
    assert.match(findNoteProblem(note)!, /^must have 1 to 200/, note)
  assert.equal(findLineProblem(''), undefined)
  assert.match(findLineProblem('a\nb')!, /^must be one line/)
})

test('the patterns take no longer than the text is long', () => {
  const hostile = [' '.repeat(1_000_000), `${' a'.repeat(500_000)}\0`, `${'\t'.repeat(1_000_000)}\0`]
  for (const pattern of [linePattern, textPattern]) {
    const started = performance.now()
    for (const text of hostile) new RegExp(pattern, 'u').test(text)
    assert.ok(performance.now() - started < 2_000, pattern)
  }
})
