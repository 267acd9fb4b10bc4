/** The words of schemas are TypeBox's, and mean the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from './schema.ts'

const about = { description: 'What it is.', examples: [1] }

const schemasOf = (words: typeof Type) => [
  words.String(),
  words.String({ pattern: '^a$', ...about }),
  words.Integer({ minimum: 1 }),
  words.Number(about),
  words.Boolean(),
  words.Null(about),
  words.Array(words.String(about), { maxItems: 3 }),
  words.Unsafe<string>({ type: 'string', enum: ['a'] }),
  words.Object({}),
  words.Object(
    { a: words.String(), b: words.Optional(words.Integer(about)) },
    { additionalProperties: false, ...about },
  ),
  words.Object({ only: words.Optional(words.Array(words.Null())) }),
  words.Object({ inner: words.Object({ a: words.Optional(words.String()) }) }, { title: 'Named' }),
]

test('every word makes the schema that TypeBox makes, to the letter', () => {
  assert.equal(JSON.stringify(schemasOf(Type)), JSON.stringify(schemasOf(TypeBox)))
})

test('a property is optional where it is said, and not wherever its schema is used', () => {
  const text = Type.String()
  const schema = Type.Object({ a: Type.Optional(text), b: text })
  assert.deepEqual((schema as { required?: string[] }).required, ['b'])
})
