/**
 * Text of any content for property tests. fast-check's own unit for it takes a second of CPU to build in each
 * file.
 */
import fc from 'fast-check'

export const codePoint = fc
  .oneof(
    { arbitrary: fc.integer({ min: 0x00, max: 0x7f }), weight: 3 },
    fc.integer({ min: 0x80, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((code) => String.fromCodePoint(code))

/** Any characters but half surrogate pairs, control characters among them. */
export function anyText(limits: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...limits })
}
