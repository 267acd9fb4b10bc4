/** An operator in front of the console, and what they watch there. */
import { createUser } from '../../src/users/user.ts'
import type { Browser } from './browser.ts'
import { operator, password, type TestGateway } from './gateway.ts'

/** A person who runs the gateway and has signed in. */
export async function openOperator(house: TestGateway, username = 'olga') {
  const { db, passwords } = house.gateway.context
  const draft = { username, name: 'Olga Operator', password, role: 'operator' } as const
  const user = await createUser(db, passwords, draft, operator, house.clock.now())
  return { user, browser: await house.signIn(user) }
}

/** Reads a live page until it has sent something that matches. */
export async function watch(house: TestGateway, browser: Browser, path: string) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const stop = new AbortController()
  const headers = { cookie, accept: 'text/event-stream' }
  const response = await fetch(house.baseUrl + path, { headers, signal: stop.signal, redirect: 'manual' })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  return {
    status: response.status,
    stop: () => stop.abort(),
    /** Resolves when the connection is gone. */
    closed: () => reader.closed.catch(() => {}),
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(heard)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`The stream ended before ${pattern}`)
        heard += value
      }
      return heard
    },
  }
}
