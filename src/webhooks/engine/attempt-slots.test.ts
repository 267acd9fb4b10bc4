import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AttemptSlots, slotMs } from './attempt-slots.ts'

const most = 10
const open = () => new AttemptSlots<object>({ mostAt: () => most })
const fill = (slots: AttemptSlots<object>, owners: readonly object[], nowMs: number) =>
  owners.map((owner) => {
    const attempt = {}
    slots.take(attempt, owner, nowMs)
    return { attempt, owner }
  })
const owners = (count: number) => Array.from({ length: count }, () => ({}))

test('of thousands that are well so many are sent to as the limit says', () => {
  const slots = open()
  const [first] = fill(slots, owners(most), 0)
  assert.equal(slots.hasRoomOf({}, 1), false)
  slots.free(first!.attempt, first!.owner)
  assert.equal(slots.hasRoomOf({}, 1), true)
})

test('attempts that hang keep no slot, and whoever they belong to gets no further one', () => {
  const slots = open()
  const hanging = owners(most)
  const attempts = fill(slots, hanging, 0)
  assert.equal(slots.hasRoomOf({}, slotMs - 1), false)
  assert.equal(slots.hasRoomOf({}, slotMs), true)
  assert.equal(slots.hasRoomOf(hanging[0]!, slotMs), false)
  // The others are bounded by themselves.
  fill(slots, owners(most), slotMs)
  assert.equal(slots.hasRoomFor(1, slotMs), false)
  for (const { attempt, owner } of attempts) slots.free(attempt, owner)
  assert.equal(slots.hasRoomOf(hanging[0]!, 2 * slotMs), true)
  assert.equal(slots.total, most)
})

test('a slow receiver gets as many as it may while there is room for everybody', () => {
  const slots = open()
  const slow = {}
  fill(slots, [slow, slow], 0)
  assert.equal(slots.hasRoomOf(slow, slotMs), true)
})
