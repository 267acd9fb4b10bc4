/** Lines of a stream, one after the other, however long the stream is. */

const lineBytesAtMost = 64 * 1024

export interface TextLine {
  /** Undefined for one that is longer than any record, or no UTF-8. */
  readonly text: string | undefined
  /** With its end. */
  readonly bytes: number
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<TextLine> {
  let rest: Buffer = Buffer.alloc(0)
  /** Bytes of a line that is too long, of which nothing is kept. */
  let dropped = 0
  for await (const chunk of stream) {
    let begin = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, begin)) {
      const piece = chunk.subarray(begin, end)
      const bytes = dropped + rest.length + piece.length + 1
      yield {
        text: bytes > lineBytesAtMost ? undefined : decode(rest.length > 0 ? Buffer.concat([rest, piece]) : piece),
        bytes,
      }
      rest = Buffer.alloc(0)
      dropped = 0
      begin = end + 1
    }
    const left = chunk.subarray(begin)
    if (dropped + rest.length + left.length > lineBytesAtMost) {
      dropped += rest.length + left.length
      rest = Buffer.alloc(0)
    } else if (left.length > 0) rest = Buffer.concat([rest, left])
  }
  const bytes = dropped + rest.length
  if (bytes > 0) yield { text: dropped > 0 ? undefined : decode(rest), bytes }
}
