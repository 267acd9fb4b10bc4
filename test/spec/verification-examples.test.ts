/**
 * Spec 6: the examples of verification that portal and docs print. They cannot be made to throw, and are
 * right.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { quickStarts } from '../../src/web/partner/reference/quick-starts.ts'
import { verifications } from '../../src/web/partner/reference/verifications.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const secret = 'my_webhook_secret'
const body =
  '{"applicationId": 5,"clearingAccount": "1234","action": "SUBMITTED","email": "test@example.com"}'
const right = createHmac('sha256', secret).update(body).digest('hex')
const most = right.slice(0, 63)

/** Null where there is no such header. */
const signatures: [isGenuine: boolean, signature: string | null][] = [
  [true, right],
  [false, null],
  [false, ''],
  [false, most],
  [false, `${most}é`],
  [false, `${most}\u00ff`],
  [false, `${most}\u0080`],
  [false, `${most}\u0131`],
  [false, `${right}\u00ff`],
  [false, 'é'.repeat(32)],
  [false, 'é'.repeat(64)],
  [false, `${most}\ud83d`],
  [false, `${most}${right.endsWith('0') ? '1' : '0'}`],
  [false, right.toUpperCase()],
  [false, ` ${right}`],
  [false, `${right}, ${right}`],
  [false, '\0'.repeat(64)],
  [false, 'a'.repeat(100_000)],
]

test('the golden vector is what the examples are asked', () => {
  assert.equal(right, '617b9e5b2fb70b0107cb1f59a7d13b096576de5702306c57c63315787e47a145')
})

test('the example in TypeScript takes the right signature, and nothing else makes it throw', async () => {
  const file = join(folder, 'verify.ts')
  writeFileSync(file, verifications.typescript)
  const { isGenuine } = (await import(pathToFileURL(file).href)) as {
    isGenuine(body: string | Buffer, signature: string | undefined, secret: string): boolean
  }
  for (const [expected, signature] of signatures) {
    assert.equal(isGenuine(body, signature ?? undefined, secret), expected, String(signature).slice(0, 80))
    assert.equal(isGenuine(Buffer.from(body), signature ?? undefined, secret), expected)
  }
})

const asker = `
import json, sys
asked = json.load(sys.stdin)
print(json.dumps([is_genuine(asked["body"].encode(), each, asked["secret"]) for each in asked["signatures"]]))
`

test('the example in Python does the same', async (t) => {
  const isThere = await run('python3', ['--version']).then(
    () => true,
    () => false,
  )
  if (!isThere) return t.skip('python3 is not installed: the example in Python was not run')
  writeFileSync(join(folder, 'verify.py'), verifications.python + asker)
  const asking = run('python3', [join(folder, 'verify.py')])
  asking.child.stdin!.end(
    JSON.stringify({ body, secret, signatures: signatures.map(([, signature]) => signature) }),
  )
  const { stdout } = await asking
  assert.deepEqual(
    JSON.parse(stdout),
    signatures.map(([expected]) => expected),
  )
})

test('the portal and the docs print these very examples', () => {
  const printed = new Map(quickStarts.map(({ language, verify }) => [language, verify]))
  assert.equal(printed.get('TypeScript'), verifications.typescript)
  assert.equal(printed.get('Python'), verifications.python)
  const page = readFileSync('docs/delivery.md', 'utf8')
  for (const [name, text] of [
    ['ts', verifications.typescript],
    ['python', verifications.python],
  ] as const)
    assert.ok(
      page.includes(`\`\`\`${name}\n${text}\`\`\`\n`),
      `docs/delivery.md does not print the example in ${name} as it is`,
    )
  for (const file of [
    'README.md',
    ...['interface', 'portal', 'libraries', 'security'].map((each) => `docs/${each}.md`),
  ])
    assert.doesNotMatch(
      readFileSync(file, 'utf8'),
      /timingSafeEqual|compare_digest/,
      `${file} has an example of its own`,
    )
})
