/**
 * Files of customers, accounts and holdings: streamed in, followed, and gone on with after whatever cut them.
 */
import { createGunzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { minute } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { readWithIdleTimeout } from '../../http/idle-timeout.ts'
import { Conflict, Invalid, Problem } from '../../problem.ts'
import {
  getImport,
  type Import,
  listFaults,
  listImports,
  readImport,
  startImport,
} from '../../provisioning/import.ts'
import { allowedModes } from '../../provisioning/outcomes.ts'
import { finishImport } from '../../provisioning/snapshot.ts'
import { integer, oneOf, Type } from '../../vocabulary/schema.ts'
import { defaultSource } from '../../vocabulary/source.ts'
import type { Endpoint } from '../frame/route.ts'
import { type Provisioner, provisioner, requireSource } from '../gates/service-gates.ts'
import { ImportResource, printImport } from './import-resource.ts'
import { originOf, type SourceQuery, sourceParameter } from './provisioning.ts'

const lines = [
  { kind: 'customer', externalId: 'C-1001', name: 'Ada Lovelace', version: 7 },
  { kind: 'account', externalId: 'A-2001', number: '6YA20001', type: 'margin', version: 7 },
  { kind: 'holding', customer: 'C-1001', account: 'A-2001', role: 'owner', version: 7 },
]
const RecordLines = Type.String({
  title: 'RecordLines',
  description:
    'A record a line, each a JSON object: `kind`, the fields of a customer, an account or a holding, and `"op": "remove"` for what is gone. The last line may be `{"end": {"records": N}}`, with the number of records; that of a snapshot must be. UTF-8; with `Content-Encoding: gzip` if you like.',
  examples: [lines.map((line) => `${JSON.stringify(line)}\n`).join('')],
})

const shared = { tags: ['Internal'] as const, security: [{ serviceBasic: [] }], mayForbid: true as const }
const params = Type.Object({
  id: integer('The number of the import.', 1, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
})

interface ImportQuery extends SourceQuery {
  readonly mode?: Import['mode']
  readonly dryRun?: 'true' | 'false'
  readonly asOf?: number
  readonly after?: number
}

export const startsImport: Endpoint<Provisioner, { Querystring: ImportQuery }> = {
  takes: 'lines',
  schema: {
    operationId: 'startImport',
    summary: 'Import records',
    description:
      'For systems of the brokerage. Reads the lines as they come, commits them by the thousand, and answers when all are read. Lines with a fault are counted and told; the others are applied. After a cut connection `GET /internal/v1/imports` names the import and its last committed line: go on with `PATCH`.',
    ...shared,
    querystring: Type.Object({
      ...sourceParameter,
      mode: Type.Optional(
        oneOf(allowedModes, {
          description:
            '`changes` unless given. A `snapshot` is everything that the source has: what is not in it is removed. Its last line must be `{"end": {"records": N}}`.',
        }),
      ),
      dryRun: Type.Optional(
        oneOf(['true', 'false'], { description: '`true` applies nothing, and tells what would come of it.' }),
      ),
      asOf: Type.Optional(
        Type.Integer({
          format: 'int64',
          description:
            'Of a snapshot: the greatest version that it can have. What is newer stays. Unless given, what is said while it runs stays.',
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
        }),
      ),
    }),
    body: RecordLines,
    response: { 201: ImportResource },
    answerHeaders: ['Location'],
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { mode = 'changes', dryRun, asOf } = request.query
    if (asOf !== undefined && mode !== 'snapshot')
      throw new Invalid([
        { field: 'asOf', problem: 'is for a snapshot alone: give mode=snapshot too, or leave it out' },
      ])
    const totalBytes = request.headers['content-encoding'] ? undefined : lengthOf(request)
    const draft = {
      ...originOf(context, caller, request.query),
      mode,
      dryRun: dryRun === 'true',
      asOf,
      totalBytes,
    }
    const started = await startImport(context.db, draft, caller.act)
    const ended = await readAll(context, request, reply, started)
    return reply
      .status(201)
      .header('location', `/internal/v1/imports/${started.id}`)
      .send(await print(context, ended))
  },
}

export const continuesImport: Endpoint<
  Provisioner,
  { Params: { readonly id: number }; Querystring: { readonly after: number } }
> = {
  takes: 'lines',
  schema: {
    operationId: 'continueImport',
    summary: 'Go on with an import',
    description:
      'For systems of the brokerage. The lines after the last that is committed; `after` is its number.',
    ...shared,
    params,
    querystring: Type.Object({
      after: integer('The last line that is committed, as the import says.', 3, {
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
    }),
    body: RecordLines,
    response: { 200: ImportResource },
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { id } = request.params
    const { after } = request.query
    const running = await getImportFor(context, caller, id)
    if (running.state !== 'running')
      throw new Conflict(`Import ${id} takes no more lines: it is ${running.state}.`)
    if (running.lines !== after)
      throw new Conflict(`Import ${id} is committed up to line ${running.lines}: go on after that one.`)
    return print(context, await readAll(context, request, reply, running))
  },
}

export const fetchImport: Endpoint<Provisioner, { Params: { readonly id: number } }> = {
  schema: {
    operationId: 'getImport',
    summary: 'Fetch an import',
    description:
      'For systems of the brokerage. How far it is, what came of it, and what is wrong with which line.',
    ...shared,
    params,
    response: { 200: ImportResource },
  },
  async handle(context, caller, request) {
    const { id } = request.params
    return print(context, await getImportFor(context, caller, id))
  },
}

async function getImportFor({ db, environment }: Context, caller: Provisioner, id: number): Promise<Import> {
  const found = await getImport(db, id, environment)
  requireSource(caller, found.source)
  return found
}

const listed = 50

export const fetchImports: Endpoint<Provisioner> = {
  schema: {
    operationId: 'listImports',
    summary: 'List imports',
    description: `For systems of the brokerage. The newest ${listed} of this site, of sources that the caller may provision for.`,
    ...shared,
    response: {
      200: Type.Object(
        { imports: Type.Array(ImportResource, { description: 'Newest first, without their faults.' }) },
        { title: 'Imports', description: 'What was imported.' },
      ),
    },
  },
  async handle({ db, environment }, caller) {
    const { mayProvision } = caller.service
    if (mayProvision.length === 0) requireSource(caller, defaultSource[environment])
    return {
      imports: (await listImports(db, listed, { environment, sources: mayProvision })).map(printImport),
    }
  },
}

/**
 * The sender is judged again before each batch: a service that was revoked meanwhile, or may no longer speak
 * for the source, adds nothing more.
 */
async function readAll(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  started: Import,
): Promise<Import> {
  const { db, config } = context
  const act = async () => {
    const caller = await provisioner(context, request, reply)
    requireSource(caller, started.source)
    return caller.act
  }
  const read = await readImport(db, started, unpack(request), { act })
  return finishImport(db, read, config.provisioning.removalPercent, await act())
}

/** A sender that sends nothing for so long has gone. */
const silentMs = minute

async function* unpack(request: FastifyRequest): AsyncGenerator<Buffer> {
  const bytes = readWithIdleTimeout(request, silentMs)
  if (request.headers['content-encoding']?.trim().toLowerCase() !== 'gzip') return yield* bytes
  yield* gunzip(bytes)
}

/** A fault of what is read is one of the reader's, so that the sender is told. */
async function* gunzip(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip()
  const feeding = (async () => {
    for await (const chunk of bytes) if (!unpacked.write(chunk)) await drained(unpacked)
    unpacked.end()
  })()
  feeding.catch((error: Error) => unpacked.destroy(error))
  try {
    yield* unpacked
  } catch (error) {
    throw error instanceof Problem
      ? error
      : new Problem(400, 'invalid_request', 'The body is not gzip, or was cut short.')
  }
  await feeding
}

function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off('drain', go).off('close', go)
      resolve()
    }
    stream.on('drain', go).on('close', go)
  })
}

function lengthOf({ headers }: FastifyRequest): number | undefined {
  const length = Number(headers['content-length'])
  return Number.isSafeInteger(length) && length > 0 ? length : undefined
}

async function print({ db }: Context, read: Import) {
  return { ...printImport(read), faults: await listFaults(db, read.id) }
}
