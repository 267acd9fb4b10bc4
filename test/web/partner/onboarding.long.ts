/**
 * The list on a partner's home ticks itself from what happened; and the first program holds the partner's own
 * ids, in the language of its choice.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { parseWords } from '../../../src/cli/command.ts'
import { listenOptions } from '../../../src/cli/listen.ts'
import { applyWithDetails, getPartner, setPartnerStatus } from '../../../src/partners/partner.ts'
import { ask } from '../../support/ask.ts'
import { callJson, transaction } from '../../support/branch.ts'
import type { Browser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { watch } from '../../support/live-page.ts'
import { deliverOne, openPartner } from '../../support/portal.ts'
import { decodeEntities } from '../../support/quick-start.ts'
import { answer, openReceiver } from '../../support/receiver.ts'
import { sandboxLink } from '../../support/web.ts'

const run = promisify(execFile)
const house = await openHouse()
const receiver = await keepOpen(openReceiver())
const { db } = house.gateway.context
const folder = mkdtempSync(join(tmpdir(), 'countersign-onboarding-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let applicants = 0

async function apply() {
  const user = await house.makeUser()
  const details = { website: 'https://a.example', contact: 'a@a.example', purpose: 'To begin.' }
  const act = { by: { name: `user:${user.id}` }, at: house.clock.now() }
  const partner = await applyWithDetails(db, user, { name: `Beginner ${++applicants}`, ...details }, act)
  return { user, partner, home: `/partner/${partner.branchId}` }
}

/** The titles that are ticked, and those that are not. */
async function listOf(browser: Browser, home: string) {
  const { text } = await browser.get(home)
  const titles = (kind: string) =>
    [...text.matchAll(new RegExp(`<li class="${kind}"[^>]*><div><strong>([^<]*)</strong>`, 'g'))].map(
      (match) => match[1]!,
    )
  return { done: titles('ticked'), open: titles('open') }
}

/** What stands before the button that copies it. */
function copied(text: string, what: string): string | undefined {
  const before = text.split(`Copy<span class="unseen"> ${what}</span>`)[0]!
  const [, found] =
    /<(?:pre|code)[^>]*>([^<]*)<\/(?:pre|code)><button type="button" class="copy">$/.exec(before) ?? []
  return found === undefined ? undefined : decodeEntities(found)
}

test('in the sandbox each step is ticked by what happened, whoever did it and however: while the page is open too', async () => {
  const { user, partner, home } = await apply()
  const browser = await house.signIn(user, 'sandbox')
  const [client, webhook, event] = ['Register a client', 'Add a webhook', 'Receive a verified event'] as const
  const done = ['Apply', 'Open the sandbox']
  assert.deepEqual(await listOf(browser, home), { done, open: [client, webhook, event] })
  const registered = await house.makeClient({ partner, environment: 'sandbox' })
  assert.deepEqual(await listOf(browser, home), { done: [...done, client], open: [webhook, event] })
  const page = await watch(browser, home)
  const url = receiver.url('/own')
  await callJson(`${house.sandboxUrl}/v2/webhooks`, 'POST', { url }, basic(registered))
  await page.until(/<li class=\\"ticked\\"[^>]*><div><strong>Add a webhook/)
  receiver.on('/own', answer(500, {}, 'not yet'))
  const fire = () =>
    callJson(`${house.sandboxUrl}/v2/webhooks/transaction`, 'POST', transaction(), basic(registered))
  await fire()
  await receiver.count('/own', 1)
  assert.deepEqual((await listOf(browser, home)).open, [event], 'what failed is no event received')
  receiver.on('/own', answer(200, {}, ''))
  await fire()
  await page.until(/Your receiver accepted it\./)
  page.stop()
  assert.deepEqual((await listOf(browser, home)).open, [])
  receiver.on('/own', answer(500, {}, 'broken again'))
  for (let more = 0; more < 12; more++) await fire()
  const newest = async () => (await browser.get(home)).text.split('Newest deliveries')[1]!
  await eventually('all that is shown failed', async () => !(await newest()).includes('>delivered<'))
  assert.deepEqual((await listOf(browser, home)).open, [], 'and stays, whatever fails after it')
})

test('on the live site it tells of the sandbox, of nothing before the approval, and of nothing to whoever knows the way', async () => {
  const { user, partner, home } = await apply()
  const browser = await house.signIn(user)
  const waiting = await browser.get(home)
  assert.match(waiting.text, /The sandbox is open/)
  assert.ok(waiting.text.includes(`href="${sandboxLink(house, home)}"`))
  assert.doesNotMatch(waiting.text, /Getting started/)
  await setPartnerStatus(
    db,
    await getPartner(db, String(partner.branchId)),
    'approved',
    undefined,
    house.act(),
  )
  const open = ['Try it in the sandbox', 'Register a client', 'Add a webhook', 'Receive a verified event']
  assert.deepEqual(await listOf(browser, home), { done: ['Apply', 'Get approved'], open })
  const sandbox = await house.signIn(user, 'sandbox')
  await sandbox.submit(await sandbox.get(home), `${home}/receiver/try`, {})
  await eventually('it was verified', async () =>
    (await listOf(browser, home)).done.includes('Try it in the sandbox'),
  )

  const own = await openPartner(house)
  await deliverOne(own, receiver)
  assert.match((await own.browser.get(own.home)).text, /Getting started/)
  const age = (table: string, days: number) =>
    ask(db, `UPDATE ${table} SET created_at = created_at - $2 * interval '1 day' WHERE branch_id = $1`, [
      own.partner.branchId,
      days,
    ])
  await age('webhooks', 8)
  assert.doesNotMatch((await own.browser.get(own.home)).text, /Getting started|Quick start/)
  await age('webhooks', -8)
  assert.match((await own.browser.get(own.home)).text, /Getting started/)
  await age('clients', 31)
  assert.doesNotMatch((await own.browser.get(own.home)).text, /Getting started|Quick start/)
})

test('the first program has the own ids, in the language that the address names, and no secret', async () => {
  const own = await openPartner(house)
  const { webhookId } = await deliverOne(own, receiver)
  const { text } = await own.browser.get(own.home)
  assert.equal(copied(text, 'the branch id'), String(own.partner.branchId))
  assert.equal(copied(text, 'the client id'), own.client.id)
  assert.equal(copied(text, 'the webhook id'), String(webhookId))
  assert.ok(!text.includes(own.client.secret))
  const languages = [...text.matchAll(/href="[^"]*\?language=(\w+)#quick-start"/g)].map((match) => match[1]!)
  assert.deepEqual(languages, ['curl', 'typescript', 'python', 'go', 'ruby'])
  for (const language of languages) {
    const page = await own.browser.get(`${own.home}?language=${language}`)
    assert.match(page.text, new RegExp(`language=${language}#quick-start" aria-current="page"`))
    const [program, look] = [copied(page.text, 'the program')!, copied(page.text, 'the request')!]
    for (const id of [own.client.id, house.baseUrl, `"branchId":${own.partner.branchId}`])
      assert.ok(program.includes(id), `${language}: ${id}`)
    assert.ok(look.includes(own.client.id) && look.includes(`/v2/webhooks/${webhookId}/deliveries`), language)
  }
  for (const strange of ['cobol', '%3Cscript%3E', '__proto__', 'go&language=ruby'])
    assert.match(
      (await own.browser.get(`${own.home}?language=${strange}`)).text,
      /language=curl#quick-start" aria-current/,
    )
})

test('the requests that show what became of it run as they stand', async () => {
  const own = await openPartner(house)
  await deliverOne(own, receiver)
  const env = { PATH: process.env.PATH, HOME: folder, CLIENT_SECRET: own.client.secret }
  const read = async (language: string) =>
    copied((await own.browser.get(`${own.home}?language=${language}`)).text, 'the request')!
  const isDelivered = /"state":\s*"delivered"/
  assert.match((await run('sh', ['-ec', await read('curl')], { env })).stdout, isDelivered)
  const file = join(folder, 'look.mts')
  writeFileSync(file, await read('typescript'))
  assert.match((await run(process.execPath, [file], { env })).stdout, isDelivered)
  const python = await run('python3', ['--version'], { env }).catch(() => undefined)
  if (python) assert.match((await run('python3', ['-c', await read('python')], { env })).stdout, isDelivered)
})

test('the command that listens is one that the command line takes, with the own client and site', async () => {
  const own = await openPartner(house)
  const command = copied((await own.browser.get(own.home)).text, 'the command')!
  const [, line] = /^npx countersign listen ([\s\S]*)$/m.exec(command)!
  const listening = { name: 'listen', summary: '', options: listenOptions }
  const words = parseWords(listening, line!.replaceAll('\\\n', ' ').trim().split(/\s+/))
  assert.equal(words.find('url'), house.baseUrl)
  assert.equal(words.find('client-id'), own.client.id)
  assert.equal(words.find('forward-to'), 'http://localhost:3000/hooks')
})
