/** Lines of a stream, one after the other, however long the stream is. Empty ones are only counted. */

const lineBytesAtMost = 64 * 1024

export interface TextLine {
  /** Undefined for one that is longer than any record, or no UTF-8. Empty for what is left at the end. */
  readonly text: string | undefined
  /** With its end, and the empty lines before it. */
  readonly bytes: number
  /** How many lines that are: this one, and the empty ones before it. */
  readonly lines: number
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const lineFeed = 10

export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<TextLine> {
  let rest: Buffer = Buffer.alloc(0)
  /** Bytes of a line that is too long, of which nothing is kept. */
  let dropped = 0
  let empty = 0
  for await (const chunk of stream) {
    let begin = 0
    for (;;) {
      // A file of nothing but empty lines costs a look at each of its bytes.
      if (rest.length === 0 && dropped === 0)
        while (chunk[begin] === lineFeed) {
          begin++
          empty++
        }
      const end = chunk.indexOf(lineFeed, begin)
      if (end === -1) break
      const piece = chunk.subarray(begin, end)
      const bytes = dropped + rest.length + piece.length + 1
      const text =
        bytes > lineBytesAtMost ? undefined : decode(rest.length > 0 ? Buffer.concat([rest, piece]) : piece)
      yield { text, bytes: bytes + empty, lines: empty + 1 }
      rest = Buffer.alloc(0)
      dropped = 0
      empty = 0
      begin = end + 1
    }
    const left = chunk.subarray(begin)
    if (dropped + rest.length + left.length > lineBytesAtMost) {
      dropped += rest.length + left.length
      rest = Buffer.alloc(0)
    } else if (left.length > 0) rest = Buffer.concat([rest, left])
  }
  const bytes = dropped + rest.length
  if (bytes > 0)
    yield { text: dropped > 0 ? undefined : decode(rest), bytes: bytes + empty, lines: empty + 1 }
  else if (empty > 0) yield { text: '', bytes: empty, lines: empty }
}
