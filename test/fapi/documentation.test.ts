/**
 * docs/fapi.md, run: its programs for Node go the whole way here, letter by letter; those in other languages call
 * addresses that are there; and so are the tests that it names.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { apiRoutes } from '../../src/api/routes.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { answerRequest, callbackUrl, makeFapi2Client } from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'

const page = readFileSync('docs/fapi.md', 'utf8')
const house = await openHouse({ HOST: 'localhost' })
house.clock.advance(Date.now() - house.clock.now().getTime())
const { db } = house.gateway.context
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

interface Section {
  readonly heading: string
  readonly words: string
  readonly language: string
  readonly code: string
}

const blocks: Section[] = page.split('\n## ').flatMap((text) => {
  const [, heading, words, language, code] = /^(.+?)\n(.*?)```(\w+)\n(.*?)```/s.exec(text) ?? []
  return code === undefined ? [] : [{ heading: heading!, words: words!, language: language!, code }]
})
/** What configures a suite is no program: browser-script.long.ts runs it. */
const sections = blocks.filter(({ language }) => language !== 'json')
const isRun = ({ language }: Section) => language === 'js'

let loaded = 0

/** As a program that has just been started. */
async function load({ heading, code }: Section): Promise<Program> {
  const file = join(folder, `${heading}-${loaded++}.mjs`)
  writeFileSync(file, code)
  return (await import(pathToFileURL(file).href)) as Program
}

for (const section of sections.filter(isRun))
  test(`${section.heading} goes the whole way with the program of docs/fapi.md, also where nonces are demanded`, async () => {
    for (const demandsDpopNonces of [false, true]) {
      await setProfile(db, by.client, { demandsDpopNonces }, house.act())
      await goTheWholeWay(section)
    }
  })

async function goTheWholeWay(section: Section): Promise<void> {
  const { start, finish, refresh, readProfile } = await load(section)
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
}

test('docs/fapi.md has a program for each of these libraries, with its version, and says which ones no test runs', () => {
  assert.deepEqual(
    sections.map(({ heading }) => heading),
    ['openid-client', 'oauth4webapi', 'Authlib', 'Spring Security'],
  )
  for (const section of sections) {
    assert.match(section.words, /\d/, section.heading)
    assert.equal(/The project's tests do not run/.test(section.words), !isRun(section), section.heading)
  }
})

test('every address that a program of docs/fapi.md calls by itself is one of the interface', () => {
  const there = new Set([...apiRoutes, ...pageRoutes].map(({ path }) => path))
  for (const section of sections) {
    const called = [...section.code.matchAll(/\/v\d\/[\w/]+/g)].map(([path]) => path)
    for (const path of called) assert.ok(there.has(path), `${section.heading}: ${path}`)
    const demanded = ['/v1/oauth/authorize', '/v1/oauth/par', '/v1/oauth/accesstoken', '/v1/user/profile']
    if (!isRun(section)) assert.deepEqual([...new Set(called)].sort(), demanded.sort(), section.heading)
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
