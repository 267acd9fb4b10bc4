import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { eventually } from '../../test/support/eventually.ts'
import { anyText } from '../../test/support/text.ts'
import {
  generateKey,
  makeKeyFile,
  openVault,
  parseKey,
  printKey,
  readKeyFile,
  sealedKeyId,
  writeKeyFile,
} from './vault.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-vault-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const text = anyText({ maxLength: 200 })
const key = generateKey()
const vault = openVault({ kind: 'environment', keys: [key] })

test('what is sealed for a purpose is opened for that purpose', () => {
  fc.assert(
    fc.property(text, text, (purpose, plain) => {
      assert.equal(vault.open(purpose, vault.seal(purpose, plain)), plain)
    }),
  )
})

test('what is sealed for one purpose does not open for another', () => {
  fc.assert(
    fc.property(text, text, text, (purpose, other, plain) => {
      fc.pre(purpose !== other)
      assert.equal(vault.open(other, vault.seal(purpose, plain)), undefined)
    }),
  )
})

test('one bit changed, cut or added anywhere, and it does not open', () => {
  fc.assert(
    fc.property(text, fc.nat(), fc.integer({ min: 0, max: 7 }), (plain, place, bit) => {
      const sealed = vault.seal('p', plain)
      const changed = Buffer.from(sealed)
      changed[place % changed.length]! ^= 1 << bit
      assert.equal(vault.open('p', changed), undefined)
      assert.equal(vault.open('p', sealed.subarray(0, place % sealed.length)), undefined)
      assert.equal(vault.open('p', Buffer.concat([sealed, Buffer.of(bit)])), undefined)
    }),
  )
})

test('bytes that nobody sealed do not open and do no harm', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      assert.equal(vault.open('p', Buffer.from(bytes)), undefined)
      assert.equal(vault.open('p', Buffer.concat([Buffer.from(key.id, 'hex'), bytes])), undefined)
    }),
  )
})

test('the same text is never sealed to the same bytes, and does not show in them', () => {
  const sealed = Array.from({ length: 200 }, () => vault.seal('p', 'the same text').toString('latin1'))
  assert.equal(new Set(sealed).size, 200)
  assert.ok(!sealed.some((bytes) => bytes.includes('same')))
})

test('with several keys the first seals and all open; a key that is gone opens nothing', () => {
  const [old, fresh] = [generateKey(), generateKey()]
  const sealed = openVault({ kind: 'environment', keys: [old] }).seal('p', 'x')
  const rotated = openVault({ kind: 'environment', keys: [fresh, old] })
  assert.equal(rotated.open('p', sealed), 'x')
  assert.equal(sealedKeyId(rotated.seal('p', 'x')), fresh.id)
  assert.equal(rotated.currentKeyId, fresh.id)
  assert.deepEqual(rotated.keyIds, [fresh.id, old.id])
  assert.equal(openVault({ kind: 'environment', keys: [fresh] }).open('p', sealed), undefined)
})

test('derived keys are stable, one a key, and differ by purpose', () => {
  const [a, b] = [generateKey(), generateKey()]
  const two = openVault({ kind: 'environment', keys: [a, b] })
  assert.equal(two.derive('p').length, 2)
  assert.deepEqual(two.derive('p')[1], openVault({ kind: 'environment', keys: [b] }).derive('p')[0])
  assert.notDeepEqual(two.derive('p')[0], two.derive('q')[0])
  assert.notDeepEqual(two.derive('p')[0], two.derive('p')[1])
})

test('a key file is made for its owner only, and is read again after a rotation', () => {
  const path = join(folder, 'deep', 'secret.keys')
  makeKeyFile(path)
  const first = openVault({ kind: 'file', path })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const sealed = first.seal('p', 'x')
  const fresh = generateKey()
  writeKeyFile(path, [fresh, ...readKeyFile(path)])
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const second = openVault({ kind: 'file', path })
  assert.equal(second.open('p', sealed), 'x')
  assert.equal(
    first.open('p', second.seal('p', 'y')),
    'y',
    'a node that missed the rotation reads the file again',
  )
  assert.equal(first.currentKeyId, fresh.id)
})

test('a key file that is away never becomes a new key, and the keys that are held go on', async () => {
  const path = join(folder, 'away', 'secret.keys')
  makeKeyFile(path)
  const held = openVault({ kind: 'file', path })
  const sealed = held.seal('p', 'x')
  const foreign = openVault({ kind: 'environment', keys: [generateKey()] }).seal('p', 'z')
  renameSync(path, `${path}.away`)
  assert.equal(held.open('p', foreign), undefined, 'a key that it does not know makes it look at the file')
  assert.equal(held.open('p', sealed), 'x')
  await assert.rejects(
    held.reload(),
    /The key file .*secret\.keys does not exist\. Put it back, or name where it is in SECRET_KEY_FILE\./,
  )
  assert.equal(held.open('p', held.seal('p', 'y')), 'y')
  assert.throws(() => openVault({ kind: 'file', path }), /does not exist/)
  assert.equal(existsSync(path), false, 'no key was made')
  renameSync(`${path}.away`, path)
  assert.equal(openVault({ kind: 'file', path }).open('p', held.seal('p', 'y')), 'y')
})

/**
 * Opens a vault the moment it is told to, and seals something, again and again. Of the gate, the second
 * number counts the threads that wait at it.
 */
const starter = `
  const { parentPort, workerData } = require('node:worker_threads')
  import(workerData).then(({ makeKeyFile, openVault }) =>
    parentPort.on('message', ({ path, gate }) => {
      Atomics.add(gate, 1, 1)
      Atomics.wait(gate, 0, 0)
      makeKeyFile(path)
      parentPort.postMessage(openVault({ kind: 'file', path }).seal('race', 'kept'))
    }))`

test('of several who start at once on a new folder one makes the key, and what any of them sealed opens', async (t) => {
  const workerData = new URL('vault.ts', import.meta.url).href
  const starters = Array.from({ length: 4 }, () => new Worker(starter, { eval: true, workerData }))
  t.after(() => Promise.all(starters.map((worker) => worker.terminate())))
  for (let round = 0; round < 10; round++) {
    const path = join(folder, `race-${round}`, 'secret.keys')
    const gate = new Int32Array(new SharedArrayBuffer(8))
    const sealed = Promise.all(starters.map((worker) => once(worker, 'message')))
    for (const worker of starters) worker.postMessage({ path, gate })
    await eventually('all of them wait at the gate', () => Atomics.load(gate, 1) === starters.length)
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
    const all = await sealed
    const later = openVault({ kind: 'file', path })
    for (const [bytes] of all) assert.equal(later.open('race', Buffer.from(bytes)), 'kept')
    assert.deepEqual(readdirSync(join(folder, `race-${round}`)), ['secret.keys'], 'no draft is left')
  }
})

test('a key file may hold comments and blank lines, and a line that is no key is named', () => {
  const path = join(folder, 'commented.keys')
  writeFileSync(path, `# newest\n\n${printKey(key)}\n  \n`)
  assert.deepEqual(readKeyFile(path), [key])
  writeFileSync(path, `${printKey(key)}\nnot a key\n`)
  assert.throws(() => readKeyFile(path), /Line 2 of .*commented\.keys is not a key/)
  writeFileSync(path, '# nothing\n')
  assert.throws(() => openVault({ kind: 'file', path }), /holds no key/)
  assert.equal(readFileSync(path, 'utf8'), '# nothing\n', 'an empty file is not filled in silently')
})

test('the line that is named is the line of the file, comments counted', () => {
  const path = join(folder, 'numbered.keys')
  writeFileSync(path, `# a comment\n\n${printKey(key)}\nnot a key\n`)
  assert.throws(() => readKeyFile(path), /Line 4 /)
})

test('a key is 32 bytes in base64, base64url or hex, and keeps its id in every form', () => {
  for (const form of [
    printKey(key),
    key.bytes.toString('base64'),
    key.bytes.toString('hex'),
    key.bytes.toString('hex').toUpperCase(),
  ]) {
    assert.deepEqual(parseKey(form), key)
  }
  for (const wrong of ['', 'x', 'a'.repeat(63), printKey(key).slice(1), `${printKey(key)}AA`]) {
    assert.equal(parseKey(wrong), undefined, wrong)
  }
})
