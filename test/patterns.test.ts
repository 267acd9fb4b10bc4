/**
 * No text stops a process: every regular expression of the program takes time in proportion to what it reads.
 * Each is run against text that was made to hurt it, of what it looks for itself, in three lengths. One that
 * is new in src/ is among them by itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readPatterns } from './support/patterns.ts'

const patterns = readPatterns(fileURLToPath(new URL('../', import.meta.url)))

const usual = [' ', 'a', 'A', '0', '\n', '"', "'", '<', '-', '/', '=', '.']
const kinds: Readonly<Record<string, string>> = {
  s: ' ',
  d: '0',
  w: 'a',
  r: '\r',
  n: '\n',
  t: '\t',
  b: ' ',
  D: 'a',
}

/** Every character that the pattern names, with one for each kind that it names. */
function charactersOf(source: string): string[] {
  const named = source
    .replaceAll(/\\p\{\w+\}/g, '\u00ad')
    .replaceAll(/\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})/g, (_, four?: string, two?: string) =>
      String.fromCharCode(Number.parseInt(four ?? two!, 16)),
    )
    .replaceAll(/\\(.)/gs, (_, letter: string) => kinds[letter] ?? letter)
  return [...new Set([...named.replaceAll(/[()|?*+^$[\]{}]/g, ''), ...usual])]
}

/** Words that it begins with, or looks for on the way. */
function wordsOf(source: string): string[] {
  const plain = source
    .replaceAll(/\\([./-])/g, '$1')
    .replaceAll(/\\u[0-9A-Fa-f]{4}|\\x..|\\[a-zA-Z]|\(\?[:=!]|\(\?<[=!]/g, ' ')
  return [...new Set(plain.match(/[\w<>"=:/.,;!-]{2,}/g) ?? [])].slice(0, 6)
}

interface Hostile {
  readonly before: string
  readonly over: string
  readonly behind: string
}

function hostileTo(source: string): Hostile[] {
  const characters = charactersOf(source).slice(0, 36)
  const words = wordsOf(source)
  const pairs = characters.slice(0, 10).flatMap((one) => [`${one}a`, ` ${one}`])
  const starts = ['', '"', 'a', 'a=a', ...words.slice(0, 4), ...words.slice(0, 2).map((word) => `${word} `)]
  const repeated = [...new Set([...characters, ...pairs, ...words])]
  return starts.flatMap((before) =>
    repeated.flatMap((over) => ['\u0001', '"x'].map((behind) => ({ before, over, behind }))),
  )
}

const write = ({ before, over, behind }: Hostile, length: number) =>
  before + over.repeat(Math.ceil(length / over.length)) + behind

interface CompiledPattern {
  readonly one: RegExp
  readonly all: RegExp
}

function compile(source: string, flags: string): CompiledPattern {
  const bare = flags.replaceAll('g', '')
  return { one: new RegExp(source, bare), all: new RegExp(source, `${bare}g`) }
}

/** As it is used: to find one, to change all of them. */
function timeOf({ one, all }: CompiledPattern, text: string): bigint {
  one.lastIndex = 0
  const began = process.hrtime.bigint()
  one.test(text)
  text.replace(all, '')
  return process.hrtime.bigint() - began
}

/** The least of a few: whatever else the machine does makes none of them shorter. */
const leastOf = (times: number, compiled: CompiledPattern, text: string) =>
  Math.min(...Array.from({ length: times }, () => Number(timeOf(compiled, text))))

/**
 * In nanoseconds. A quadratic pattern takes a hundred thousand steps for the first length; those that are
 * quicker than that are in proportion.
 */
const inProportion = 80_000n
const lengths = [500, 1_500, 4_500]
/** For three times the text: a pattern in proportion takes three times as long, a quadratic one nine. */
const growthAtMost = 6

/** How it grows where that is more than its text does. */
function findGrowth(compiled: CompiledPattern, hostile: Hostile): string | undefined {
  // One that doubles with each character would never come back from the first length.
  const few = timeOf(compiled, write(hostile, 18))
  if (few > inProportion && leastOf(3, compiled, write(hostile, 18)) > inProportion) return 'without bounds'
  const first = write(hostile, lengths[0]!)
  if (timeOf(compiled, first) < inProportion || timeOf(compiled, first) < inProportion) return undefined
  const times = lengths.map((length) => leastOf(4, compiled, write(hostile, length)))
  const growth = [times[1]! / times[0]!, times[2]! / times[1]!]
  return Math.min(...growth) > growthAtMost
    ? growth.map((each) => `times ${each.toFixed()}`).join(', ')
    : undefined
}

/** The first text that hurts it, and how much. */
function findHurt(source: string, flags: string): string | undefined {
  // Without a repetition nothing is tried twice.
  if (!/[*+]|\{\d+,\d*\}/.test(source)) return undefined
  const compiled = compile(source, flags)
  for (const hostile of hostileTo(source)) {
    const growth = findGrowth(compiled, hostile)
    if (growth !== undefined) return `${JSON.stringify(hostile)}: ${growth} for three times the text`
  }
  return undefined
}

test('every regular expression takes time in proportion to its text', () => {
  assert.ok(patterns.length > 250, `${patterns.length} found`)
  const slow = patterns.flatMap(({ file, source, flags }) => {
    const hurt = findHurt(source, flags)
    return hurt === undefined ? [] : [`${file}: /${source}/${flags} on ${hurt}`]
  })
  assert.deepEqual(slow, [])
})

test('one that is not in proportion is found', () => {
  const slow = [
    String.raw`[\s,;]+$`,
    '^(a+)+$',
    '(a|a)*b',
    '<[^>]*>',
    String.raw`\s*=\s*(?=[^=]*$)`,
    '^(.*?)([.,]*)$',
    '([a-z]+)=([^,]*?) *(,|$)',
  ]
  assert.deepEqual(
    slow.filter((source) => findHurt(source, '') === undefined),
    [],
  )
  assert.equal(findHurt(String.raw`(?<![\s,;])[\s,;]+$`, ''), undefined)
})
