import type { Browser } from './browser.ts'

/** Reads a live page until it has sent something that matches. */
export async function watch(browser: Browser, path: string) {
  const stop = new AbortController()
  const headers = { cookie: browser.cookieHeader, accept: 'text/event-stream' }
  const response = await fetch(browser.origin + path, { headers, signal: stop.signal, redirect: 'manual' })
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
