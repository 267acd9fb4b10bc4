/** A plan as people read it: in colours in a terminal, plain in a file. */
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { PlannedStep } from '../documents/plan.ts'
import { sayPlan } from './plan-words.ts'
import { openPrinter } from './printer.ts'

const step = { proposals: [], etag: undefined, isUnjudged: false, document: undefined, changes: [] } as const
const plan: readonly PlannedStep[] = [
  { ...step, kind: 'partner', name: 'new', outcome: 'created' },
  {
    ...{ ...step, kind: 'partner', name: 'other', outcome: 'changed' },
    changes: [
      { field: 'spec.refreshAccess', before: true, after: false, proposed: false },
      { field: 'spec.state', before: 'suspended', after: 'approved', proposed: true },
    ],
  },
  { ...step, kind: 'client', name: 'gone', outcome: 'removed' },
  { ...step, kind: 'client', name: 'same', outcome: 'unchanged' },
]

function say(terminal: object, prunes = true): string {
  let said = ''
  const file = new Writable({
    write(chunk, _, done) {
      said += chunk
      done()
    },
  })
  const out = Object.assign(file, terminal) as unknown as NodeJS.WriteStream
  sayPlan(openPrinter(false, out), plan, { prunes })
  return said
}

const plain = `+ partner new: create
~ partner other: change
    spec.refreshAccess: true → false
    spec.state: suspended → approved  (proposed: another person decides)
- client gone: remove
1 to create, 1 to change, 1 unchanged, 1 to remove.
`

test('a file gets the plan plain; a terminal the same words, in colours', () => {
  assert.equal(say({}), plain)
  const coloured = say({ isTTY: true, columns: 200, getColorDepth: () => 8 })
  assert.equal(stripVTControlCharacters(coloured), plain)
  for (const [colour, words] of [
    [32, '+ partner new'],
    [33, '~ partner other'],
    [36, 'spec.state'],
    [31, '- client gone'],
  ] as const)
    assert.match(coloured, new RegExp(`\\u001b\\[${colour}m[^\\n]*${words.replace(/[+]/, '\\+')}`), words)
})

test('what would be pruned stays, and is told so, without --prune', () => {
  assert.match(say({}, false), /- client gone: would be pruned: say --prune\n/)
  assert.match(say({}, false), /1 not in the documents\.\n$/)
})
