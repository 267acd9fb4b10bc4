/**
 * docs/libraries.md, run: what stands there for a library is what goes the whole way here, letter by letter.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openHouse } from '../support/gateway.ts'
import { openHolder } from '../support/oauth.ts'
import { approveForm } from '../support/web.ts'

const page = readFileSync('docs/libraries.md', 'utf8')

// The page's own words about localhost are followed, too.
const house = await openHouse({ HOST: 'localhost' })
const client = await house.makeClient({ callbackUrl: 'http://localhost:3000/callback' })
const holder = await openHolder(house)
const folder = mkdtempSync(join(tmpdir(), 'countersign-libraries-'))
symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
const { id: CLIENT_ID, secret: CLIENT_SECRET, callbackUrl: CALLBACK_URL } = client
Object.assign(process.env, { BASE_URL: house.baseUrl, CLIENT_ID, CLIENT_SECRET, CALLBACK_URL })
after(() => rmSync(folder, { recursive: true, force: true }))

/** The first block under a heading, as a module. */
async function load<Exports>(heading: string): Promise<Exports> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const [, code] = /```js\n(.*?)```/s.exec(section) ?? []
  assert.ok(code, heading)
  const file = join(folder, `${heading}.mjs`)
  writeFileSync(file, code)
  return (await import(pathToFileURL(file).href)) as Exports
}

/**
 * The person follows the library's address and allows what it asks; answers the address at which the library
 * is called.
 */
async function approveAt(address: string | URL): Promise<URL> {
  const browser = await holder.browser()
  const start = await browser.get(String(address))
  assert.equal(start.status, 302, start.text)
  const consent = await browser.get((await browser.get(start.location!)).location!)
  const { location } = await browser.post('/consent', approveForm(consent))
  assert.ok(location?.startsWith(client.callbackUrl), String(location))
  return new URL(location!)
}

async function assertReads(accessToken: string): Promise<void> {
  assert.equal((await house.profile(accessToken)).status, 200)
}

interface PassportUser {
  readonly id: string
  readonly accessToken: string
  readonly refreshToken: string
}
/** What passport adds to a strategy for one request. */
interface Ending {
  redirect(url: string): void
  success(user: PassportUser): void
  fail(why: unknown): void
  error(why: unknown): void
}
interface Passport {
  readonly strategy: object
  refresh(token: string, done: (error: unknown, accessToken: string) => void): void
}

test('Passport goes the whole way with the settings of docs/libraries.md', async () => {
  const { strategy, refresh } = await load<Passport>('Passport')
  const session = {}
  const visit = <Key extends 'redirect' | 'success'>(end: Key, query: object) =>
    new Promise<Parameters<Ending[Key]>[0]>((settle, fail) => {
      const ending = { [end]: settle, fail, error: fail } as unknown as Ending
      const each = Object.assign(Object.create(strategy) as { authenticate(request: object): void }, ending)
      each.authenticate({ query, session })
    })

  const back = await approveAt(await visit('redirect', {}))
  const user = await visit('success', Object.fromEntries(back.searchParams))
  assert.equal(user.id, holder.user.id)
  await assertReads(user.accessToken)
  const next = await new Promise<string>((settle, fail) => {
    refresh(user.refreshToken, (error, accessToken) => (error ? fail(error) : settle(accessToken)))
  })
  assert.notEqual(next, user.accessToken)
  await assertReads(next)
})

interface TokenSet {
  readonly access_token: string
  readonly refresh_token: string
}
interface OpenidClient {
  start(): Promise<{ address: URL; checks: object }>
  finish(calledAt: URL, checks: object): Promise<TokenSet>
  refresh(refreshToken: string): Promise<TokenSet>
  readProfile(accessToken: string): Promise<Response>
}

test('openid-client goes the whole way with the settings of docs/libraries.md', async () => {
  const { start, finish, refresh, readProfile } = await load<OpenidClient>('openid-client')
  const { address, checks } = await start()
  const tokens = await finish(await approveAt(address), checks)
  const body = (await (await readProfile(tokens.access_token)).json()) as { profile: { id: string } }
  assert.equal(body.profile.id, holder.user.id)
  await assertReads((await refresh(tokens.refresh_token)).access_token)
})

interface SimpleToken {
  readonly token: TokenSet
  refresh(): Promise<SimpleToken>
  revoke(kind: 'access_token'): Promise<void>
}
interface Simple {
  start(state: string): string
  finish(code: string): Promise<SimpleToken>
}

test('simple-oauth2 goes the whole way with the settings of docs/libraries.md', async () => {
  const { start, finish } = await load<Simple>('simple-oauth2')
  const back = await approveAt(start('of this visit'))
  assert.equal(back.searchParams.get('state'), 'of this visit')
  const first = await finish(back.searchParams.get('code')!)
  await assertReads(first.token.access_token)
  const second = await first.refresh()
  await assertReads(second.token.access_token)
  await second.revoke('access_token')
  assert.equal((await house.profile(second.token.access_token)).status, 401)
})

test('docs/libraries.md has a part for every library of its table, and the versions that the tests run', () => {
  const rows = [...page.matchAll(/^\| \[([^\]]+)\]\(#([^)]+)\)(?: \(`?([^`)]+)`?\))? \| (\S+) \| (.+) \|$/gm)]
  assert.ok(rows.length >= 4, `${rows.length} rows`)
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const installed = { ...dependencies, ...devDependencies }
  for (const [, name, anchor, inner, version, run] of rows) {
    assert.ok(page.includes(`\n## ${name}\n`), name)
    const made = name!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-')
    assert.equal(anchor, made)
    const byTest = run!.startsWith('by `test/')
    if (byTest) assert.equal(installed[inner ?? name!], version, name)
    else assert.match(run!, /^(by hand|not run: .+)$/, name)
  }
})
