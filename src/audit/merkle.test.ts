import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { findPath, followPath, hashLeaf, hashTree } from './merkle.ts'

const leavesOf = (size: number) => Array.from({ length: size }, (_, place) => hashLeaf(`text ${place}`))

test('the tree is that of RFC 9162: leaves and nodes are marked, the left half is the largest power of two', () => {
  const sha = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const [a, b, c] = ['text 0', 'text 1', 'text 2'].map((text) => sha(Buffer.of(0), Buffer.from(text)))
  assert.deepEqual(hashTree(leavesOf(1)), a)
  assert.deepEqual(hashTree(leavesOf(3)), sha(Buffer.of(1), sha(Buffer.of(1), a!, b!), c!))
})

test('the path of every leaf leads to the root, in trees of every size to seventy', () => {
  for (let size = 1; size <= 70; size++) {
    const leaves = leavesOf(size)
    const root = hashTree(leaves)
    for (const [index, leaf] of leaves.entries()) {
      const path = findPath(leaves, index)
      assert.ok(path.length <= Math.ceil(Math.log2(size)), `${index} of ${size}`)
      assert.deepEqual(followPath(leaf, index, size, path), root, `${index} of ${size}`)
    }
  }
})

test('another leaf, another place, a longer or a shorter path do not lead to the root', () => {
  const leaves = leavesOf(13)
  const root = hashTree(leaves)
  const path = findPath(leaves, 5)
  const roots = [
    followPath(leaves[6]!, 5, 13, path),
    followPath(leaves[5]!, 6, 13, path),
    followPath(leaves[5]!, 5, 13, path.slice(1)),
    followPath(leaves[5]!, 5, 13, [...path, root]),
    followPath(leaves[5]!, 5, 13, path.toReversed()),
    // What two leaves make together is no leaf, even where their hashes are taken for a text.
    followPath(hashLeaf(Buffer.concat([leaves[4]!, leaves[5]!]).toString('latin1')), 2, 7, path.slice(1)),
  ]
  for (const [place, found] of roots.entries()) assert.notDeepEqual(found, root, `way ${place}`)
})
