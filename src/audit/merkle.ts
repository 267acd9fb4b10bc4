/**
 * A tree of hashes over texts (a Merkle tree, RFC 9162, section 2.1): an auditor who knows its root can be
 * shown one of the texts, with a few hashes beside it (an inclusion proof), and none of the others. Leaves
 * and inner nodes are hashed apart, so that neither can pass for the other.
 */
import { hash } from 'node:crypto'

const leafMark = Buffer.of(0)
const nodeMark = Buffer.of(1)

export function hashLeaf(text: string): Buffer {
  return hash('sha256', Buffer.concat([leafMark, Buffer.from(text)]), 'buffer')
}

function hashNode(left: Buffer, right: Buffer): Buffer {
  return hash('sha256', Buffer.concat([nodeMark, left, right]), 'buffer')
}

/**
 * How many of so many leaves are in the left half: the largest power of two that leaves some for the right
 * one.
 */
function leftOf(size: number): number {
  return 2 ** Math.floor(Math.log2(size - 1))
}

export function hashTree(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (first && leaves.length === 1) return first
  const left = leftOf(leaves.length)
  return hashNode(hashTree(leaves.slice(0, left)), hashTree(leaves.slice(left)))
}

/** The hashes beside the way from a leaf to the root, the leaf's own neighbour first. */
export function findPath(leaves: readonly Buffer[], index: number): Buffer[] {
  if (leaves.length === 1) return []
  const left = leftOf(leaves.length)
  const [first, second] = [leaves.slice(0, left), leaves.slice(left)]
  return index < left
    ? [...findPath(first, index), hashTree(second)]
    : [...findPath(second, index - left), hashTree(first)]
}

/** The root that the path leads to; undefined when it is not of this length. */
export function followPath(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  const beside = path.at(-1)
  if (size === 1) return beside ? undefined : leaf
  if (!beside) return undefined
  const left = leftOf(size)
  const isLeft = index < left
  const inner = isLeft
    ? followPath(leaf, index, left, path.slice(0, -1))
    : followPath(leaf, index - left, size - left, path.slice(0, -1))
  return inner && (isLeft ? hashNode(inner, beside) : hashNode(beside, inner))
}
