/**
 * What a brokerage of so many customers exports, a line for each record, in files that are written before
 * anything is measured.
 */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Half as many accounts again as customers, each held by one of them. */
export const accountsOf = (count: number) => Math.floor(count * 1.5)
export const recordsOf = (count: number) => count + 2 * accountsOf(count)

function* linesOf(count: number): Generator<string> {
  for (let n = 0; n < count; n++)
    yield `{"kind":"customer","externalId":"C${n}","name":"Customer ${n} of the house","email":"c${n}@example.com","version":1}\n`
  for (let n = 0; n < accountsOf(count); n++)
    yield `{"kind":"account","externalId":"A${n}","number":"IMP${n}","type":"margin","optionLevel":2,"version":1}\n`
  for (let n = 0; n < accountsOf(count); n++)
    yield `{"kind":"holding","customer":"C${n % count}","account":"A${n}","role":"owner","version":1}\n`
  yield `{"end":{"records":${recordsOf(count)}}}\n`
}

/** In pieces of some size: one line at a time would measure the sender. */
function* piecesOf(lines: Iterable<string>): Generator<Buffer> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < 65_536) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (piece !== '') yield Buffer.from(piece)
}

export async function writeLines(file: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(piecesOf(lines)), createWriteStream(file, { mode: 0o644 }))
}

/** Answers how many lines it has. */
export async function writeExport(file: string, customers: number): Promise<number> {
  await writeLines(file, linesOf(customers))
  return recordsOf(customers) + 1
}
