/** How an act answers: the page that follows says what was done, once, with the way back or a link. */
import assert from 'node:assert/strict'
import { pageRoutes } from '../../src/web/routes.ts'
import type { Answer, Browser } from './browser.ts'
import { pathOf } from './web.ts'

const once = 'it shows, once, what it made'

/** Forms that answer otherwise, each with its reason. */
export const otherAnswers: Readonly<Record<string, string>> = {
  '/login': 'whoever signs in is led to where they wanted to go',
  '/login/passkey': 'whoever signs in is led to where they wanted to go',
  '/login/second': 'whoever signs in is led to where they wanted to go',
  '/login/second/recovery': 'whoever signs in is led to where they wanted to go',
  '/login/second/passkey': 'whoever signs in is led to where they wanted to go',
  '/login/forgotten': 'whoever was named, the answer is the same',
  '/login/reset/:token': 'whoever has chosen one signs in next',
  '/login/cancel': 'nothing was done yet',
  '/logout': 'whoever has signed out sees no page of theirs',
  '/logout/from/:provider': 'a machine sends it',
  '/consent': 'it leads on to the application',
  '/consent/other': 'whoever has signed out sees no page of theirs',
  '/account/api/tokens': once,
  '/account/security/recovery': once,
  '/partner/:branch/alerts/add': once,
  '/console/alerts/add': once,
  '/console/credentials/create': once,
  '/partner/:branch/clients/create': once,
  '/partner/:branch/clients/:client/rotate': once,
  '/partner/:branch/signature/check': 'it changes nothing, and shows what it found',
  '/partner/:branch/proofs/check': 'it changes nothing, and shows what it found',
}

const rows = pageRoutes.filter(({ method }) => method === 'POST')

interface FlashOnPage {
  readonly text: string
  readonly link: string | undefined
  readonly undo: string | undefined
}

export function toldBy({ text }: Answer): FlashOnPage | undefined {
  const [, told] = /<div class="notice success done" role="status">([\s\S]*?)<\/div>/.exec(text) ?? []
  if (told === undefined) return undefined
  return {
    text: told.replaceAll(/<a [\s\S]*?<\/a>|<form[\s\S]*|<[^>]*>/g, '').trim(),
    link: /<a href="([^"]*)"/.exec(told)?.[1]?.replaceAll('&amp;', '&'),
    undo: /<form method="post" action="([^"]*)"/.exec(told)?.[1],
  }
}

/** Wherever it leads on to. */
async function follow(browser: Browser, answer: Answer): Promise<Answer> {
  assert.equal(answer.status, 303, answer.text)
  const page = await browser.get(pathOf(answer))
  return page.status === 303 ? follow(browser, page) : page
}

export async function assertAnswered(browser: Browser, answer: Answer): Promise<FlashOnPage> {
  const page = await follow(browser, answer)
  const flash = toldBy(page)
  assert.ok(flash, `${pathOf(answer)} says what was done: ${page.text}`)
  assert.match(flash.text, /\.$/)
  assert.ok(
    flash.link !== undefined || flash.undo !== undefined,
    `“${flash.text}” has the way back, or a link`,
  )
  if (flash.link !== undefined)
    assert.ok([200, 303].includes((await browser.get(flash.link)).status), flash.link)
  if (flash.undo !== undefined)
    assert.ok(
      rows.some(({ path }) => matches(path, flash.undo!)),
      flash.undo,
    )
  assert.equal(toldBy(await follow(browser, answer)), undefined, 'it is told once')
  return flash
}

function matches(path: string, address: string): boolean {
  return new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(address)
}
