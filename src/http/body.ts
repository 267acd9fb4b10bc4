/** The bodies of requests: forms and JSON, whole, as text. */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'
import { messageOf } from '../text/thrown.ts'
import { type Form, parseForm } from './form.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler of the request reads the body itself, as it comes. */
    takesLines?: true
  }
  interface FastifyRequest {
    /** A JSON body as it was written, for values whose digits must not change. */
    bodyText: string
    /** What came with a form that takes files, by the names of its fields. */
    files: ReadonlyMap<string, Buffer> | undefined
  }
}

export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'ignore')
  app.removeAllContentTypeParsers()
  app.decorateRequest('bodyText', '')
  app.decorateRequest('files', undefined)
  app.addContentTypeParser('application/json', (request, body: IncomingMessage, done) => {
    readWhole(request, body, json, (problem, text) => {
      if (problem) return done(problem)
      request.bodyText = text
      parseJson(request, text, (error, parsed) =>
        error && isCutShort(text) ? done(cutShort()) : done(error, parsed),
      )
    })
  })
  // Only for routes that take lines: no other handler reads a body that is still coming.
  app.addContentTypeParser(
    'application/x-ndjson',
    (request, body: IncomingMessage, callback: LinesCallback) => {
      if (request.routeOptions.config.takesLines)
        callback(findForeignEncoding(request.headers, json, packedLines) ?? null, body)
      else callback(new Problem(415, 'invalid_request', 'This address takes no lines of JSON.'))
    },
  )
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    (request, body: IncomingMessage, callback: FormCallback) => {
      readWhole(request, body, form, (problem, text) =>
        problem ? callback(problem) : parseFormBody(text, callback),
      )
    },
  )
}

/**
 * For the few addresses that take files, each for itself: forms as multipart/form-data (RFC 7578), read by
 * the parser that Node's own fetch has. It is loaded by the first of them.
 */
export function addFileParser(
  app: FastifyInstance,
  isKnown: (request: FastifyRequest) => Promise<boolean>,
): void {
  app.addContentTypeParser(
    'multipart/form-data',
    (request, body: IncomingMessage, callback: FormCallback) => {
      const read = (limit: number) =>
        readWhole(
          request,
          body,
          multipart,
          (problem, text) => {
            if (problem) callback(problem)
            else parseFiles(request, text).then((form) => callback(null, form), callback)
          },
          limit,
        )
      const limit = request.routeOptions.bodyLimit
      const ofStrangers = Math.min(limit, strangersFileBytes)
      if (limit === ofStrangers || Number(request.headers['content-length']) <= ofStrangers) read(ofStrangers)
      else isKnown(request).then((known) => read(known ? limit : ofStrangers), callback)
    },
  )
}

/** What is read before anybody looks who sends it. */
const strangersFileBytes = 256 * 1024

async function readFormData(sent: Response): Promise<FormData> {
  try {
    return await sent.formData()
  } catch {
    throw new Problem(400, 'invalid_request', 'The form cannot be read.')
  }
}

async function parseFiles(request: FastifyRequest, text: string): Promise<Form> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' }
  const parsed = await readFormData(new Response(Buffer.from(text, 'latin1'), { headers }))
  const pairs: [string, string][] = []
  const files = new Map<string, Buffer>()
  for (const [name, value] of parsed) {
    if (typeof value === 'string') pairs.push([name, value])
    else if (files.has(name)) throw new Problem(400, 'invalid_request', `Choose one file for ${name}.`)
    else files.set(name, Buffer.from(await value.arrayBuffer()))
  }
  if (pairs.flat().some((each) => each.includes('\0'))) throw hasNul()
  request.files = files
  return parseForm(new URLSearchParams(pairs).toString())
}

type TextCallback = (problem: Problem | null, text: string) => void

interface BodyFormat {
  /** As the header says it of a body that needs no second look. */
  readonly type: string
  readonly charsets: readonly string[]
  /** Undefined for bytes that are no text. */
  decode(bytes: Buffer): string | undefined
}

const json: BodyFormat = {
  type: 'application/json',
  charsets: ['utf-8', 'utf8', 'us-ascii'],
  decode: (bytes) => (isUtf8(bytes) ? bytes.toString('utf8') : undefined),
}

const form: BodyFormat = {
  type: 'application/x-www-form-urlencoded',
  // All but ASCII is escaped in a form; older clients name Latin-1 all the same.
  charsets: ['utf-8', 'utf8', 'us-ascii', 'iso-8859-1'],
  decode: (bytes) => bytes.toString('latin1'),
}

const multipart: BodyFormat = {
  type: 'multipart/form-data',
  charsets: ['utf-8', 'utf8'],
  // A character a byte.
  decode: (bytes) => bytes.toString('latin1'),
}

/**
 * What is too long by its own account, or in an encoding of its own, is refused unread. Most bodies arrive
 * with their head, and are here by the time their request is begun: those are taken at once, without the
 * events of a stream.
 */
function readWhole(
  request: FastifyRequest,
  body: IncomingMessage,
  reading: BodyFormat,
  callback: TextCallback,
  limit = request.routeOptions.bodyLimit,
): void {
  const finish = (problem: Problem | null, bytes: Buffer = empty) => {
    if (problem) return callback(problem, '')
    const text = reading.decode(bytes)
    if (text === undefined) callback(notUtf8(), '')
    else callback(null, text)
  }
  const foreign = findForeignEncoding(request.headers, reading)
  if (foreign) finish(foreign)
  else if (Number(request.headers['content-length']) > limit) finish(tooLong())
  else if (body.complete) takeAtOnce(body, limit, finish)
  else if (body.destroyed) finish(brokenOff())
  else listenToEnd(body, limit, finish)
}

type BytesCallback = (problem: Problem | null, bytes?: Buffer) => void

const empty = Buffer.alloc(0)

function takeAtOnce(body: IncomingMessage, limit: number, callback: BytesCallback): void {
  const whole = (body.read() as Buffer | null) ?? empty
  if (whole.length > limit) callback(tooLong())
  else callback(null, whole)
}

function listenToEnd(body: IncomingMessage, limit: number, callback: BytesCallback): void {
  const chunks: Buffer[] = []
  let length = 0
  /** Once: a body that was refused for its length may break off later. */
  const finish = (problem: Problem | null) => {
    body.off('data', hear).off('end', end).off('error', fail)
    if (problem) callback(problem)
    else callback(null, Buffer.concat(chunks, length))
  }
  const hear = (chunk: Buffer) => {
    chunks.push(chunk)
    length += chunk.length
    if (length > limit) finish(tooLong())
  }
  const end = () => finish(null)
  const fail = () => finish(brokenOff())
  body.on('data', hear).on('end', end).on('error', fail)
}

/** How a body may be packed, and what a client that packs it otherwise is told. */
const asTheyAre = { packings: ['identity'], remedy: 'Send the body as it is, without a Content-Encoding.' }
const packedLines = {
  packings: ['gzip', 'identity'],
  remedy: 'Send the body as it is, or with Content-Encoding: gzip.',
}

/** RFC 9110, 8.4 and 15.5.16: nothing is unpacked here, and no letters are read but those of UTF-8. */
function findForeignEncoding(
  headers: IncomingHttpHeaders,
  { type, charsets }: BodyFormat,
  { packings, remedy } = asTheyAre,
): Problem | undefined {
  const packing = headers['content-encoding']?.trim().toLowerCase() || 'identity'
  if (!packings.includes(packing))
    return new Problem(415, 'invalid_request', remedy, {
      headers: { 'accept-encoding': packings.join(', ') },
    })
  const sent = headers['content-type']
  if (sent === type) return undefined
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(sent ?? '')?.[1]?.toLowerCase()
  if (charset === undefined || charsets.includes(charset)) return undefined
  return new Problem(415, 'invalid_request', 'Send the body in UTF-8.')
}

const tooLong = () =>
  new Problem(413, 'invalid_request', 'The request body is larger than this endpoint accepts.')
const brokenOff = () => new Problem(400, 'invalid_request', 'The request ended before its body did.')
const hasNul = () => new Problem(400, 'invalid_request', 'The form contains a NUL character.')
const cutShort = () =>
  new Problem(400, 'invalid_request', 'The request body ends before its JSON does. It was cut short.')
const notUtf8 = () => new Problem(400, 'invalid_request', 'The request body is not UTF-8.')

/** JSON that went wrong nowhere but at its end. */
function isCutShort(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    const message = messageOf(error)
    const place = / at position (\d+)/.exec(message)?.[1]
    return (
      text.trim() !== '' && (place === undefined ? /end of JSON/.test(message) : Number(place) >= text.length)
    )
  }
}

type LinesCallback = (error: Error | null, body?: IncomingMessage) => void

type FormCallback = (error: Error | null, form?: Form) => void

/** No field needs a NUL, and the database's text cannot hold one. */
function parseFormBody(text: string, callback: FormCallback): void {
  if (text.includes('\0') || text.includes('%00')) callback(hasNul())
  else callback(null, parseForm(text))
}
