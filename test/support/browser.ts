/** A browser without a screen: keeps cookies, follows nothing by itself, reads forms. */
import { request } from 'undici'

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  readonly location: string | undefined
  json<Value = Record<string, unknown>>(): Value
}

export interface SentRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

export async function send(
  url: string,
  { method = 'GET', headers = {}, body }: SentRequest = {},
): Promise<Answer> {
  return readAnswer(await request(url, { method, headers, body: body ?? null }), (answer) => answer.text())
}

/** The same, of what may be a stream without end: its beginning. */
export async function sendToStream(
  url: string,
  { method = 'GET', headers = {}, body }: SentRequest = {},
): Promise<Answer> {
  const answer = await request(url, { method, headers, body: body ?? null })
  const isStream = String(answer.headers['content-type']).startsWith('text/event-stream')
  return readAnswer(answer, isStream ? readBeginning : (whole) => whole.text())
}

type Received = Awaited<ReturnType<typeof request>>

async function readBeginning(body: Received['body']): Promise<string> {
  for await (const chunk of body) return String(chunk)
  return ''
}

async function readAnswer(
  answer: Received,
  read: (body: Received['body']) => Promise<string>,
): Promise<Answer> {
  const text = await read(answer.body)
  const location = answer.headers.location as string | undefined
  return { status: answer.statusCode, headers: answer.headers, text, location, json: () => JSON.parse(text) }
}

export type Fields = Record<string, string | readonly string[]>

export function formOf(fields: Fields): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, each] as [string, string]),
  )
  return new URLSearchParams(pairs).toString()
}

export function postForm(url: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return send(url, { method: 'POST', headers: { ...type, ...headers }, body: formOf(fields) })
}

/** RFC 7578. */
function multipartOf(fields: Fields, files: Readonly<Record<string, Buffer>>) {
  const boundary = 'a-boundary-that-no-file-holds'
  const part = (head: string, content: Buffer | string) => [
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(content as Buffer),
    Buffer.from('\r\n'),
  ]
  const parts = [
    ...Object.entries(fields).flatMap(([name, values]) =>
      [values].flat().flatMap((value) => part(`name="${name}"`, value)),
    ),
    ...Object.entries(files).flatMap(([name, bytes]) =>
      part(`name="${name}"; filename="${name}.bin"`, bytes),
    ),
    Buffer.from(`--${boundary}--\r\n`),
  ]
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) }
}

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly origin: string

  constructor(origin: string) {
    this.origin = origin
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#keep(
      await send(this.#resolve(path), { headers: { accept: 'text/html', ...this.#sent(), ...headers } }),
    )
  }

  async post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
    const sent = {
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
      origin: 'null',
      ...this.#sent(),
      ...headers,
    }
    return this.#keep(await postForm(this.#resolve(path), fields, sent))
  }

  /** A form with files, by the names of their fields. */
  async upload(
    path: string,
    fields: Fields,
    files: Readonly<Record<string, Buffer>>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const sent = {
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
      origin: 'null',
      ...this.#sent(),
      ...headers,
    }
    const { type, body } = multipartOf(fields, files)
    return this.#keep(
      await send(this.#resolve(path), { method: 'POST', headers: { 'content-type': type, ...sent }, body }),
    )
  }

  /**
   * Opens a page and sends its form to the same action, with these fields over the page's own hidden ones.
   */
  async submit(page: Answer, action: string, fields: Fields): Promise<Answer> {
    return this.post(action, { ...hiddenFields(page.text, action), ...fields })
  }

  #resolve(path: string): string {
    return path.startsWith('/') ? this.origin + path : path
  }

  /** As it sends them itself. */
  get cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #sent(): Record<string, string> {
    const cookie = this.cookieHeader
    return cookie === '' ? {} : { cookie }
  }

  #keep(answer: Answer): Answer {
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair, ...attributes] = line.split('; ')
      const equals = pair!.indexOf('=')
      const name = pair!.slice(0, equals)
      if (attributes.includes('Max-Age=0')) this.cookies.delete(name)
      else this.cookies.set(name, pair!.slice(equals + 1))
    }
    return answer
  }
}

/** The hidden fields of the form with this action. */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const start = page.indexOf(`action="${action}"`)
  if (start < 0) throw new Error(`The page has no form for ${action}:\n${page}`)
  const form = page.slice(start, page.indexOf('</form>', start))
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map((match) => [
      match[1]!,
      match[2]!.replaceAll('&amp;', '&'),
    ]),
  )
}

/** Every scope that a consent page lists, ticked or not, and every account in which all of them can be allowed. */
export function everythingOffered(page: string): { scope: string[]; account: string[] } {
  const valuesOf = (name: string) =>
    [
      ...page.matchAll(
        new RegExp(`name="${name}"\\s+value="([^"]*)"((?:(?!<input|</fieldset)[\\s\\S])*)`, 'g'),
      ),
    ]
      .filter(([, , words]) => !words!.includes('you cannot allow here'))
      .map((match) => match[1]!)
  return { scope: valuesOf('scope'), account: valuesOf('account') }
}
