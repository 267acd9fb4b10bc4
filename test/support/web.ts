/**
 * What the tests of the pages share: the way to a consent page, what a page must never lack, what the
 * database holds.
 */

import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { ask } from './ask.ts'
import { type Answer, Browser, everythingOffered, hiddenFields } from './browser.ts'
import { type ApproveOptions, password, type TestClient, type TestGateway } from './gateway.ts'

/** The address of the login page that an authorization request leads to. */
export async function startRequest(
  browser: Browser,
  client: TestClient,
  { scope = 'read', state = 'st', extra = {} }: ApproveOptions = {},
): Promise<string> {
  const query = new URLSearchParams({ client_id: client.id, scope, state, ...extra })
  const answer = await browser.get(`/v1/oauth/authorize?${query}`)
  assert.equal(answer.status, 302, answer.text)
  return pathOf(answer)
}

/** The consent page, for a browser in which somebody is signed in. */
export async function openConsent(
  browser: Browser,
  client: TestClient,
  options?: ApproveOptions,
): Promise<Answer> {
  const login = await browser.get(await startRequest(browser, client, options))
  assert.equal(login.status, 303, 'the visitor is signed in')
  const page = await browser.get(pathOf(login))
  assert.equal(page.status, 200, page.text)
  return page
}

/** What leads from the live site to a page of the sandbox. */
export function sandboxLink({ sandboxUrl }: TestGateway, path: string): string {
  return `${sandboxUrl}/login/live?return=${encodeURIComponent(path)}`
}

/** The part of a Location behind the origin. */
export function pathOf(answer: Answer): string {
  const { pathname, search } = new URL(answer.location!, 'http://here')
  return pathname + search
}

export function approveForm(page: Answer): Record<string, string | string[]> {
  return { ...hiddenFields(page.text, '/consent'), decision: 'approve', ...everythingOffered(page.text) }
}

/** Sends the login form of a page that was just opened. */
export async function signInWith(
  browser: Browser,
  username: string,
  given: { password?: string; path?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const page = await browser.get(given.path ?? '/login', given.headers)
  const fields = { ...hiddenFields(page.text, '/login'), username, password: given.password ?? password }
  return browser.post('/login', fields, given.headers)
}

/** A sign-in attempt from a browser that was never seen before. */
export function guess(
  house: TestGateway,
  username: string,
  guessed = 'not the right password',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return signInWith(new Browser(house.baseUrl), username, { password: guessed, headers })
}

/** Whether the browser's session opens the account's pages. */
export async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.get('/account')).status === 200
}

export function sessionCookie(browser: Browser): string {
  return browser.cookies.get('countersign-live-session')!
}

/** What a form of this browser's session has to send. */
export async function tokenOf(browser: Browser): Promise<string> {
  return hiddenFields((await browser.get('/account')).text, '/logout').csrf!
}

const selectTables = `SELECT relname AS name FROM pg_class
   WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname
     NOT IN (
     'audit_blocks', 'audit_unsealed', 'audit_heads', 'audit_anchor_keys', 'notices', 'outbox', 'outbox_floors', 'log', 'feed_days', 'days', 'cursors', 'workers',
     'webhook_counts', 'calls') ORDER BY 1`

/**
 * Every row of every table, but for what the house writes by itself: the chain over the audit log, the
 * sequencer's log, how far workers are, what charts count, the log of API calls.
 */
export function readTables(db: Database): Promise<Record<string, string[]>> {
  return askEach(db, 'coalesce(array_agg(t::text), ARRAY[]::text[])')
}

/**
 * What tells whether any of those rows is another than before: how many each table has, and the sum of their
 * hashes.
 */
export function markTables(db: Database): Promise<Record<string, string>> {
  return askEach(db, `count(*) || ' rows ' || coalesce(sum(hashtextextended(t::text, 0)), 0)`)
}

/** Every database of a run has the same tables; to ask for each by itself takes ten times as long. */
let tables: Promise<readonly { name: string }[]> | undefined

async function askEach<Value>(db: Database, asked: string): Promise<Record<string, Value>> {
  tables ??= ask<{ name: string }>(db, selectTables)
  const texts = (await tables).map(({ name }) => `SELECT '${name}' AS name, ${asked} AS found FROM ${name} t`)
  const all = await ask<{ name: string; found: Value }>(db, texts.join(' UNION ALL '))
  return Object.fromEntries(all.map(({ name, found }) => [name, found]))
}

export async function countRows(db: Database, table: string): Promise<number> {
  const [counted] = await ask<{ rows: number }>(db, `SELECT count(*) AS rows FROM ${table}`)
  return counted!.rows
}

/** A file of ours, the colours of a brand, or an image that was made safe; in a preview, for one mode. */
const ownAsset =
  /^\/assets\/((light\/|dark\/)?[0-9a-f]{12}\/[a-z.-]+|colours\/([0-9a-f]{6}-){3}[0-9a-f]{6}(-light|-dark)?\.css|images\/[0-9a-f]{64}\.(png|svg))$|^\/(partner|console\/partners)\/\d+\/clients\/\w+\/look\/logo\?version=\d+$/

/**
 * RFC 9700, 4.16 and 4.2.4: no frames, no referrer, no copy kept, no script but our own, nothing from
 * elsewhere.
 */
export function assertGuarded(answer: Answer, where: string): void {
  const { headers, text } = answer
  const policy = parsePolicy(String(headers['content-security-policy']))
  assert.deepEqual(policy['default-src'], ["'none'"], where)
  assert.deepEqual(policy['script-src'], ["'self'"], where)
  assert.deepEqual(policy['style-src'], ["'self'"], where)
  assert.deepEqual(policy['frame-ancestors'], ["'none'"], where)
  assert.deepEqual(policy['base-uri'], ["'none'"], where)
  assert.equal(headers['x-frame-options'], 'DENY', where)
  assert.equal(headers['referrer-policy'], 'no-referrer', where)
  assert.equal(headers['cache-control'], 'no-store', where)
  assert.equal(headers['x-content-type-options'], 'nosniff', where)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8', where)
  assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:/i, where)
  const resources = [...text.matchAll(/<(?:script|link|img|iframe)[^>]*\s(?:src|href)="([^"]*)"/g)]
  assert.ok(resources.length > 0, where)
  for (const [, address] of resources) assert.match(address!, ownAsset, where)
}

export function parsePolicy(policy: string): Record<string, string[]> {
  return Object.fromEntries(
    policy.split(';').map((directive) => {
      const [name, ...values] = directive.trim().split(/\s+/)
      return [name!, values]
    }),
  )
}

/** Rows of a CSV in which every cell is quoted. */
export function parseCsv(text: string): string[][] {
  return text
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) =>
      [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map((match) => match[1]!.replaceAll('""', '"')),
    )
}
