/**
 * The brokerage has one name to the people it serves, from one file. Programs, operators and developers may
 * read whose software it is.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { houseAccent, printAccent } from '../src/vocabulary/brand.ts'

/** Who is named there, and to whom. */
const others: Record<string, string> = {
  'src/vocabulary/brand.ts': 'here it is',
  'src/demo/demo.ts': 'to whoever starts the gateway',
  'src/gateway/gateway.ts': 'to whoever reads its log',
  'src/database/postgres-binaries.ts': 'to whoever starts the gateway',
  'src/webhooks/outbound/request-head.ts': 'to programs: the name of the software that sends',
  'src/partners/key-reader.ts': 'to programs: the name of the software that asks',
  'src/web/console/settings/settings.ts': 'to operators: the version of the software',
}

const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')

test('nothing but the brand names anybody to account holders', () => {
  const files = globSync(['src/**/*.ts', 'public/*']).filter(
    (file) => !/^src\/(cli|doctor)\/|\.test\.ts$/.test(file),
  )
  const naming = files.filter((file) => withoutComments(readFileSync(file, 'utf8')).includes('Countersign'))
  assert.deepEqual(
    naming.filter((file) => !Object.hasOwn(others, file)),
    [],
  )
})

/** WCAG's contrast of two colours. */
function contrast(one: string, other: string): number {
  const light = [one, other].map((colour) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
  })
  return (Math.max(...light) + 0.05) / (Math.min(...light) + 0.05)
}

test('the accent can be read, by day and by night, on what it stands on', () => {
  const { light, dark } = houseAccent
  for (const { colour, on } of [light, dark]) assert.ok(contrast(colour, on) >= 4.5, colour)
  for (const paper of ['#f6f7f4', '#ffffff', '#e4f5ee'])
    assert.ok(contrast(light.colour, paper) >= 4.5, paper)
  for (const paper of ['#0e1513', '#16201d', '#12312a']) assert.ok(contrast(dark.colour, paper) >= 4.5, paper)
  assert.match(printAccent(houseAccent), /^:root \{ --act: #[0-9a-f]{6}; --act-ink: #[0-9a-f]{6}; \}\n@media/)
})
