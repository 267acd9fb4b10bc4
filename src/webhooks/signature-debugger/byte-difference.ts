/** The first byte in which two bodies differ, with a little of what stands around it. */
export interface Difference {
  /** Counted from 0. */
  readonly offset: number
  readonly sentBytes: number
  readonly pastedBytes: number
  readonly sent: Side
  readonly pasted: Side
}

interface Side {
  /** In hex; undefined past the end. */
  readonly byte: string | undefined
  /** Before it and from it on. */
  readonly before: string
  readonly from: string
}

const around = 24

/** Undefined when there is none. */
export function findDifference(sent: Buffer, pasted: Buffer): Difference | undefined {
  const shorter = Math.min(sent.length, pasted.length)
  let offset = 0
  while (offset < shorter && sent[offset] === pasted[offset]) offset++
  if (offset === sent.length && offset === pasted.length) return undefined
  return {
    offset,
    sentBytes: sent.length,
    pastedBytes: pasted.length,
    sent: sideOf(sent, offset),
    pasted: sideOf(pasted, offset),
  }
}

function sideOf(bytes: Buffer, offset: number): Side {
  const byte = bytes[offset]
  return {
    byte: byte?.toString(16).padStart(2, '0'),
    before: printVisibly(bytes.subarray(Math.max(0, offset - around), offset)),
    from: printVisibly(bytes.subarray(offset, offset + around)),
  }
}

/** What cannot be seen is spelled out. */
function printVisibly(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll('\r', '‹CR›')
    .replaceAll('\n', '‹LF›')
    .replaceAll('\t', '‹TAB›')
    .replaceAll('\uFEFF', '‹BOM›')
    .replaceAll('\u00a0', '‹NBSP›')
}
