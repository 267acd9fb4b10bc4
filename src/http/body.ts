/** The bodies of requests: forms and JSON, whole, as text. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'
import { type Form, parseForm } from './form.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** A JSON body as it was written, for values whose digits must not change. */
    bodyText: string
  }
}

export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'ignore')
  app.removeAllContentTypeParsers()
  app.decorateRequest('bodyText', '')
  app.addContentTypeParser('application/json', (request, body: IncomingMessage, done) => {
    readWhole(request, body, 'utf8', (problem, text) => {
      if (problem) return done(problem)
      request.bodyText = text
      parseJson(request, text, done)
    })
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', (request, body: IncomingMessage, done: FormRead) => {
    readWhole(request, body, 'latin1', (problem, text) => (problem ? done(problem) : parseFormBody(text, done)))
  })
}

type WholeRead = (problem: Problem | null, text: string) => void

/**
 * What is too long by its own account is refused unread. Most bodies arrive with their head, and are here by the time
 * their request is begun: those are taken at once, without the events of a stream.
 */
function readWhole(request: FastifyRequest, body: IncomingMessage, encoding: BufferEncoding, done: WholeRead): void {
  const limit = request.routeOptions.bodyLimit
  if (Number(request.headers['content-length']) > limit) done(tooLong(), '')
  else if (body.complete) takeAtOnce(body, limit, encoding, done)
  else if (body.destroyed) done(brokenOff(), '')
  else listenToEnd(body, limit, encoding, done)
}

function takeAtOnce(body: IncomingMessage, limit: number, encoding: BufferEncoding, done: WholeRead): void {
  const whole = body.read() as Buffer | null
  if (whole === null) done(null, '')
  else if (whole.length > limit) done(tooLong(), '')
  else done(null, whole.toString(encoding))
}

function listenToEnd(body: IncomingMessage, limit: number, encoding: BufferEncoding, done: WholeRead): void {
  const chunks: Buffer[] = []
  let length = 0
  /** Once: a body that was refused for its length may break off later. */
  const finish = (problem: Problem | null) => {
    body.off('data', hear).off('end', end).off('error', fail)
    done(problem, problem ? '' : Buffer.concat(chunks, length).toString(encoding))
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

const tooLong = () => new Problem(413, 'invalid_request', 'The request body is larger than this endpoint accepts.')
const brokenOff = () => new Problem(400, 'invalid_request', 'The request ended before its body did.')

type FormRead = (error: Error | null, form?: Form) => void

/** No field needs a NUL, and the database's text cannot hold one. */
function parseFormBody(text: string, done: FormRead): void {
  const hasNul = text.includes('\0') || text.includes('%00')
  if (hasNul) done(new Problem(400, 'invalid_request', 'The form contains a NUL character.'))
  else done(null, parseForm(text))
}
