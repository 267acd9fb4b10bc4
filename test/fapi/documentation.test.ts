/** docs/fapi.md, run: its programs go the whole way here, letter by letter, and the tests that it names are there. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { answerRequest, callbackUrl, makeFapi2Client } from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'

const page = readFileSync('docs/fapi.md', 'utf8')
const house = await openHouse({ HOST: 'localhost' })
house.clock.advance(Date.now() - house.clock.now().getTime())
const by = await makeFapi2Client(house)
const folder = mkdtempSync(join(tmpdir(), 'countersign-fapi-'))
symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
after(() => rmSync(folder, { recursive: true, force: true }))
Object.assign(process.env, {
  BASE_URL: house.baseUrl,
  CLIENT_ID: by.client.id,
  CLIENT_KEY: JSON.stringify({ ...by.key.privateKey.export({ format: 'jwk' }), alg: 'ES256' }),
  CALLBACK_URL: callbackUrl,
})

interface TokenSet {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: string
}
interface Program {
  start(): Promise<{ address: URL; checks: unknown }>
  finish(calledAt: URL, checks: unknown): Promise<TokenSet>
  refresh(refreshToken: string): Promise<TokenSet>
  readProfile(accessToken: string): Promise<Response>
}

async function load(heading: string): Promise<Program> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const [, code] = /```js\n(.*?)```/s.exec(section) ?? []
  assert.ok(code, heading)
  const file = join(folder, `${heading}.mjs`)
  writeFileSync(file, code)
  return (await import(pathToFileURL(file).href)) as Program
}

for (const library of ['openid-client', 'oauth4webapi'])
  test(`${library} goes the whole way with the program of docs/fapi.md`, async () => {
    const { start, finish, refresh, readProfile } = await load(library)
    const { address, checks } = await start()
    assert.deepEqual([...address.searchParams.keys()].toSorted(), ['client_id', 'request_uri'])
    const user = await house.makeUser()
    const browser = await house.signIn(user)
    const answered = await answerRequest(by, browser, address.searchParams.get('request_uri')!)
    const tokens = await finish(new URL(`${callbackUrl}?${answered}`), checks)
    assert.equal(tokens.token_type.toLowerCase(), 'dpop')
    const renewed = await refresh(tokens.refresh_token)
    for (const { access_token } of [tokens, renewed]) {
      const body = (await (await readProfile(access_token)).json()) as { profile: { id: string } }
      assert.equal(body.profile.id, user.id)
    }
  })

test('every claim of docs/fapi.md names a test that exists, by the name of its file', () => {
  const table = page.split('\n## What we claim\n\n')[1]!.split('\n\n')[0]!
  const rows = table.split('\n').slice(2)
  assert.ok(rows.length > 10, `${rows.length} rows`)
  for (const row of rows) {
    const links = [...row.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]
    assert.ok(links.length > 0, row)
    for (const [, label, path] of links) {
      assert.ok(existsSync(join('docs', path!)), path)
      assert.equal(path!.split('/').at(-1), `${label}.test.ts`)
    }
  }
})
