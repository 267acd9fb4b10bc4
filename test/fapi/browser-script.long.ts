/**
 * The script of docs/fapi.md by which a conformance suite goes through the pages in place of a person, run in
 * a real browser: what it fills in and presses is there.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { callbackUrl, makeFapi2Client, makePkce, push } from '../support/fapi.ts'
import { openHouse, password } from '../support/gateway.ts'
import { openScreen } from '../support/screen.ts'

interface Task {
  readonly task: string
  readonly match: string
  readonly commands: readonly (readonly [string, string, string, unknown?])[]
}
interface Configuration {
  readonly browser: readonly { readonly match: string; readonly tasks: readonly Task[] }[]
}

const house = await openHouse()
const chromium = await openChromium()
after(() => chromium.close())
const by = await makeFapi2Client(house)
const [, written] = /```json\n(.*?)```/s.exec(readFileSync('docs/fapi.md', 'utf8')) ?? []

function readScript(username: string, decision: string) {
  const words = { BASE_URL: house.baseUrl, USERNAME: username, PASSWORD: password, 'value=approve': decision }
  const text = Object.entries(words).reduce((read, [word, value]) => read.replaceAll(word, value), written!)
  const [entry, ...others] = (JSON.parse(text) as Configuration).browser
  assert.equal(others.length, 0)
  return entry!
}

/** A star stands for anything. */
function covers(pattern: string, url: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[^\w]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(url)
}

/** Answers where that led: the page of the suite itself is not there. */
async function perform(page: Page, { commands }: Task): Promise<string> {
  const { href } = new URL(page.url())
  const led = page.waitForRequest(
    (request) => request.isNavigationRequest() && request.method() === 'GET' && request.url() !== href,
  )
  for (const [command, kind, target, value] of commands) {
    const element = page.locator(kind === 'id' ? `#${target}` : target)
    if (command === 'text') await element.fill(String(value))
    else await element.click()
  }
  return (await led).url()
}

for (const [decision, answered] of [
  ['value=approve', 'code'],
  ['value=deny', 'error'],
] as const)
  test(`with ${decision} the script of docs/fapi.md comes back with ${answered}`, async () => {
    const { username } = await house.makeUser()
    const pushed = await push(by, makePkce())
    const { request_uri } = pushed.json<{ request_uri: string }>()
    const query = new URLSearchParams({ client_id: by.client.id, request_uri })
    const address = `${house.baseUrl}/v1/oauth/authorize?${query}`
    const { match, tasks } = readScript(username, decision)
    assert.ok(covers(match, address))

    const { page, close } = await openScreen(chromium)
    await page.goto(address)
    let reached = page.url()
    for (const task of tasks) {
      assert.ok(covers(task.match, reached), `${task.task}: ${reached}`)
      if (!reached.startsWith(callbackUrl)) reached = await perform(page, task)
    }
    const { searchParams } = new URL(reached)
    assert.ok(searchParams.has(answered), reached)
    assert.equal(searchParams.get('iss'), house.baseUrl)
    await close()
  })
