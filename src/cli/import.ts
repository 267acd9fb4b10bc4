/** countersign import: files of customers, accounts and holdings, straight into the database. */
import { createReadStream, statSync } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { Invalid } from '../problem.ts'
import { convertCsv } from '../provisioning/csv.ts'
import {
  getImport,
  type Import,
  listFaults,
  listImports,
  readImport,
  startImport,
} from '../provisioning/import.ts'
import { allowedModes, outcomes } from '../provisioning/outcomes.ts'
import { kinds } from '../provisioning/record.ts'
import { allowRemoval, finishImport, removeMissing, stopImport } from '../provisioning/snapshot.ts'
import { defaultSource } from '../vocabulary/source.ts'
import { breakGlass } from './break-glass.ts'
import {
  type Command,
  type CommandWords,
  PartialSuccess,
  type Printer,
  UsageError,
  type WriteContext,
} from './command.ts'
import { parseEnvironment } from './environment.ts'

const faultsShown = 20

export const importCommands: readonly Command[] = [
  {
    name: 'import list',
    needs: 'reading',
    summary: 'Lists the newest imports.',
    run: async ({ db, print }) =>
      print.table((await listImports(db, 50)).map(printImport), 'Nothing was imported.'),
  },
  {
    name: 'import show',
    needs: 'reading',
    summary: 'Shows an import, and what is wrong with which line.',
    positionals: ['id'],
    async run({ db, print }, words) {
      const found = await getImport(db, readId(words.positional('id')))
      print.record({ ...printImport(found), faults: await listFaults(db, found.id, faultsShown) })
    },
  },
  {
    name: 'import allow',
    needs: 'database',
    summary: 'Says yes to what a snapshot would remove, and removes it.',
    positionals: ['id'],
    async run(context, words) {
      const { db, act, print } = context
      const id = readId(words.positional('id'))
      await breakGlass(context, 'import.removal', `import:${id}`)
      const allowed = await allowRemoval(db, id, act())
      const ended = await removeMissing(db, allowed, act())
      print.record(printImport(ended))
      tellStopped(print, ended)
    },
  },
  {
    name: 'import stop',
    needs: 'database',
    summary: 'Ends an import that runs or waits for a yes. What is committed stays.',
    positionals: ['id'],
    run: async ({ db, act, print }, words) =>
      print.record(printImport(await stopImport(db, readId(words.positional('id')), act()))),
  },
  {
    name: 'import',
    needs: 'database',
    summary:
      'Imports customers, accounts and holdings: a file with a JSON record a line, or a CSV table with the fields in its first line; .gz too; "-" reads standard input. Ends with code 3 when a record has a fault.',
    positionals: ['file'],
    options: [
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      {
        name: 'source',
        value: 'NAME',
        meaning: 'which system it comes from; core, or sandbox on the sandbox, unless given',
      },
      {
        name: 'mode',
        value: allowedModes.join('|'),
        meaning: 'snapshot removes what the file does not have; changes unless given',
      },
      { name: 'as-of', value: 'VERSION', meaning: 'of a snapshot: what is newer than this stays' },
      { name: 'dry-run', meaning: 'applies nothing, and tells what would come of it' },
      {
        name: 'kind',
        value: kinds.join('|'),
        meaning: 'what the lines of a CSV table are, where it has no column kind',
      },
      { name: 'continue', value: 'ID', meaning: 'goes on with an import that was cut, with the same file' },
    ],
    run: importFile,
  },
]

async function importFile({ db, act, print, config }: WriteContext, words: CommandWords): Promise<void> {
  const file = words.positional('file')
  const totalBytes = file === '-' ? undefined : statSync(file).size
  const continued = words.find('continue')
  const draft = continued === undefined ? readDraft(words, totalBytes) : undefined
  const source = open(file)
  const kind = readKind(words)
  const bytes = await begin(isTable(file) ? convertCsv(source.bytes, kind) : source.bytes).catch(tellKind)
  const started = draft
    ? await startImport(db, draft, act())
    : await getImport(db, readId(words.get('continue')))
  if (started.state !== 'running')
    throw new Invalid([{ field: 'continue', problem: `names an import that is ${started.state}` }])
  const lines = skipLines(bytes, started.lines)
  const beganMs = performance.now()
  const progress = (running: Import) =>
    print.progress(
      printProgress(running, source.read() / (totalBytes ?? 0), performance.now() - beganMs, started.lines),
    )
  // What comes by a pipe ends in the same way when its writer dies: its last line has to say that it is the
  // last.
  const read = await readImport(db, started, lines, { act, progress, isWhole: file !== '-' })
  const ended = await finishImport(db, read, config.provisioning.removalPercent, act())
  print.progress('')
  print.record({ ...printImport(ended), faults: await listFaults(db, ended.id, faultsShown) })
  tellStopped(print, ended)
  if (ended.state === 'needs approval')
    print.say(
      `It would remove ${ended.missing} of ${ended.known} records. If that is right: countersign import allow ${ended.id}`,
    )
  if (ended.failed > 0)
    throw new PartialSuccess(
      `${ended.failed} of its records have a fault${ended.dryRun ? '' : ', and were not applied; all others were'}. See: countersign import show ${ended.id}`,
    )
}

function tellStopped(print: Printer, { state, removed, missing }: Import): void {
  if (state === 'stopped')
    print.say(
      `A newer snapshot of the same source has begun: ${removed} of ${missing} records were removed, and no more are.`,
    )
}

/** What the lines of a table are, an option can say. */
function tellKind(error: unknown): never {
  if (!(error instanceof Invalid) || !error.fields?.some(({ field }) => field === 'kind')) throw error
  throw new Invalid(
    error.fields.map(({ field, problem }) => ({ field, problem: `${problem}. Say it with --kind` })),
  )
}

function readDraft(words: CommandWords, totalBytes: number | undefined) {
  const environment = parseEnvironment(words.find('environment'))
  const mode = allowedModes.find((each) => each === (words.find('mode') ?? 'changes'))
  if (!mode) throw new UsageError(`--mode must be one of ${allowedModes.join(', ')}.`)
  const asOf = words.find('as-of')
  if (asOf !== undefined && (mode !== 'snapshot' || !/^\d{1,16}$/.test(asOf)))
    throw new UsageError('--as-of takes a version, with --mode snapshot.')
  const source = words.find('source') ?? defaultSource[environment]
  return {
    environment,
    source,
    mode,
    dryRun: words.has('dry-run'),
    asOf: asOf === undefined ? undefined : Number(asOf),
    totalBytes,
  }
}

function readKind(words: CommandWords) {
  const given = words.find('kind')
  const kind = kinds.find((each) => each === given)
  if (given !== undefined && !kind) throw new UsageError(`--kind must be one of ${kinds.join(', ')}.`)
  return kind
}

function readId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('An import has a number, such as 7.')
  return Number(text)
}

const isTable = (file: string) => /\.csv(\.gz)?$/i.test(file)

/** With how many bytes of the file have been read. */
function open(file: string): { bytes: AsyncIterable<Buffer>; read(): number } {
  const stream = file === '-' ? process.stdin : createReadStream(file)
  const read = () => ('bytesRead' in stream ? stream.bytesRead : 0)
  if (!file.endsWith('.gz')) return { bytes: stream as AsyncIterable<Buffer>, read }
  const unpacked = createGunzip()
  stream.on('error', (error: Error) => unpacked.destroy(error))
  return { bytes: stream.pipe(unpacked), read }
}

/** With its first piece in hand: what cannot be read at all leaves no import behind. */
async function begin(stream: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const pieces = stream[Symbol.asyncIterator]()
  const first = await pieces.next()
  return (async function* () {
    if (!first.done) yield first.value
    yield* { [Symbol.asyncIterator]: () => pieces }
  })()
}

/** What was committed before is not read again. */
async function* skipLines(stream: AsyncIterable<Buffer>, skipped: number): AsyncGenerator<Buffer> {
  let left = skipped
  for await (const chunk of stream) {
    let begin = 0
    for (; left > 0; left--) {
      const end = chunk.indexOf('\n', begin)
      if (end === -1) break
      begin = end + 1
    }
    if (left === 0) yield chunk.subarray(begin)
  }
}

const barWidth = 24

function printProgress({ lines }: Import, share: number, elapsedMs: number, from: number): string {
  const rate = Math.round(((lines - from) / Math.max(1, elapsedMs)) * 1_000)
  const told = `${lines.toLocaleString('en')} lines, ${rate.toLocaleString('en')} a second`
  if (!Number.isFinite(share)) return told
  const done = Math.round(Math.min(1, share) * barWidth)
  return `[${'#'.repeat(done)}${' '.repeat(barWidth - done)}] ${Math.floor(Math.min(1, share) * 100)} %  ${told}`
}

function printImport(read: Import): Record<string, unknown> {
  const { id, source, environment, mode, state, lines, missing, startedAt, finishedAt } = read
  const counts = Object.fromEntries(outcomes.map((each) => [each, read[each]]))
  return {
    id,
    source,
    environment,
    mode,
    dry_run: read.dryRun,
    state,
    lines,
    ...counts,
    missing,
    started_at: startedAt,
    finished_at: finishedAt,
  }
}
