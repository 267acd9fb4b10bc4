/**
 * `countersign audit verify FILE`: what a file of evidence proves, or what a listener kept of the log. The file
 * is all that it needs, and a key or a head to compare with if there is one.
 */
import { createReadStream } from 'node:fs'
import { type ChainHead, parseHead, printHead } from '../audit/block.ts'
import { checkEvidence } from '../audit/evidence-check.ts'
import { parsePublicKey } from '../audit/evidence-line.ts'
import { checkStream, type StreamReport } from '../audit/stream-check.ts'
import type { CommandWords, PrintContext } from './command.ts'

type Report = Awaited<ReturnType<typeof checkEvidence>>

export async function verifyFile(context: PrintContext, words: CommandWords): Promise<void> {
  const lines = readLines(words.positional('file'))
  const { value: first = '', done } = await lines.next()
  const all = done ? lines : prepend(first, lines)
  const isHeard = /^\{"kind":"(entry|block|head)"/.test(first)
  return isHeard ? verifyHeard(context, words, all) : verifyEvidence(context, words, all)
}

async function* prepend(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* others
}

async function verifyEvidence(
  { print }: PrintContext,
  words: CommandWords,
  lines: AsyncIterable<string>,
): Promise<void> {
  const key = words.has('key') ? parsePublicKey(words.get('key')) : undefined
  const anchor = words.has('anchor') ? parseHead(words.get('anchor')) : undefined
  const report = await checkEvidence(lines, { key })
  const compared = compare(report, anchor)
  const problems = [...report.problems, ...compared.problems]
  print.record({ ...describe(report), anchor: compared.anchor, problems })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  sayLimits(print, report, key)
}

/** Without the key heads prove nothing: the lines name none. */
async function verifyHeard(
  { print }: PrintContext,
  words: CommandWords,
  lines: AsyncIterable<string>,
): Promise<void> {
  const key = words.has('key') ? parsePublicKey(words.get('key')) : undefined
  const report = await checkStream(lines, key)
  const compared = compare(report, words.has('anchor') ? parseHead(words.get('anchor')) : undefined)
  const problems = [...report.problems, ...compared.problems]
  const { entries, first, head, signed, repeated, unproven } = report
  print.record({
    ...{ proven: problems.length === 0, entries, from_block: first ?? null },
    head: head ? printHead(head) : null,
    signed_head: signed ? printHead(signed) : null,
    signed_at: signed?.at.toISOString() ?? null,
    ...{ repeated_blocks: repeated, entries_without_block: unproven },
    ...{ anchor: compared.anchor, problems },
  })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  if (key === undefined)
    print.say('\nThe blocks follow on each other. Who signed them shows with the key of the log: --key.')
}

/** With a head that was kept elsewhere. */
function compare({ passes }: Pick<StreamReport, 'passes'>, anchor: ChainHead | undefined) {
  if (!anchor) return { anchor: null, problems: [] }
  const found = passes(anchor)
  const problems = {
    yes: [],
    no: [
      `Block ${anchor.position} is not the one of the anchor: the log was rewritten before this was exported.`,
    ],
    unknown: [`It does not go through block ${anchor.position}: it cannot be compared.`],
  }
  return { anchor: found === 'yes', problems: problems[found] }
}

const longestLine = 16 * 2 ** 20

/**
 * A line ends with a line feed and nothing else: what an entry holds may look like the end of a line to
 * others.
 */
async function* readLines(file: string): AsyncGenerator<string, void> {
  let rest = ''
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > longestLine)
      throw new Error(`${file} is no file of evidence, and nothing that a listener kept.`)
  }
  if (rest !== '') yield rest
}

function describe({ opening, proven, problems }: Report): Record<string, unknown> {
  const newest = proven.reduce<Report['proven'][number] | undefined>(
    (last, each) => (last && last.head.position >= each.head.position ? last : each),
    undefined,
  )
  return {
    proven: problems.length === 0,
    entries: printRanges(proven.map(({ entry }) => entry.id)),
    blocks: printRanges(proven.map(({ block }) => block)),
    head: newest ? printHead(newest.head) : null,
    signed_at: newest?.head.at ?? null,
    key: opening?.key ?? null,
    made_at: opening?.madeAt ?? null,
    search: opening?.search ?? null,
  }
}

function sayLimits(print: PrintContext['print'], { opening }: Report, key: string | undefined): void {
  if (key === undefined)
    print.say(
      `\nSigned by the key ${opening?.key}. Compare it with the one that the brokerage published, or give that one: --key.`,
    )
}

/** `3 5-9 12`. */
function printRanges(numbers: readonly number[]): string {
  const sorted = [...new Set(numbers)].sort((one, other) => one - other)
  const ranges: [number, number][] = []
  for (const number of sorted) {
    const last = ranges.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(' ')
}
