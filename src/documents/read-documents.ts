/**
 * Documents from files: YAML, of which JSON is a part, several in a file if need be. Everything that is wrong
 * in any of them is told at once, with its file, its document and its line.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type * as Yaml from 'yaml'
import { didYouMean, findNearest } from '../text/nearest.ts'
import { messageOf } from '../text/thrown.ts'
import {
  documentKinds,
  FaultyDocuments,
  type HouseDocument,
  keyOf,
  printSpot,
  type Spot,
} from './document.ts'

const limits = { files: 10_000, fileBytes: 1_048_576, aliases: 100 }
const endings = ['.yaml', '.yml', '.json']

interface FoundDocuments {
  readonly documents: readonly HouseDocument[]
  readonly faults: readonly string[]
}

/** Of a folder with those below it, or of one file; `-` is standard input. */
export async function readDocuments(path: string): Promise<HouseDocument[]> {
  const documents: HouseDocument[] = []
  const faults: string[] = []
  for (const file of listFiles(path)) {
    const found = await readFile(file)
    documents.push(...found.documents)
    faults.push(...found.faults)
  }
  faults.push(...findTwice(documents))
  if (faults.length > 0) throw new FaultyDocuments(faults)
  return documents
}

/** In the order of their names. What begins with a dot is not for us. */
function listFiles(path: string): string[] {
  if (path === '-' || !statSync(path).isDirectory()) return [path]
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/(?:^|[/\\])\./.test(name) && endings.some((ending) => name.endsWith(ending)))
    .map((name) => join(path, name))
    .sort()
  if (files.length === 0)
    throw new FaultyDocuments([`${path}: has no file that ends in ${endings.join(', ')}`])
  if (files.length > limits.files)
    throw new FaultyDocuments([`${path}: has ${files.length} files, and ${limits.files} are read at most`])
  return files
}

async function readFile(path: string): Promise<FoundDocuments> {
  if (path === '-') return parseDocuments('standard input', readFileSync(0, 'utf8'))
  if (statSync(path).size > limits.fileBytes)
    return { documents: [], faults: [`${path}: is larger than 1 MiB: divide it`] }
  return parseDocuments(path, readFileSync(path, 'utf8'))
}

/** `file` is its name in messages. */
export async function parseDocuments(file: string, text: string): Promise<FoundDocuments> {
  // Commands that read no documents load no parser.
  const yaml = await import('yaml')
  const lineCounter = new yaml.LineCounter()
  const parsed = yaml.parseAllDocuments(text, { lineCounter, version: '1.2', prettyErrors: false })
  const lineAt = (offset: number) => lineCounter.linePos(offset).line
  const faults = [...parsed].flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ message, pos }) => `${file}:${lineAt(pos[0])}: ${message}`),
  )
  // What could not be read says nothing reliable about the rest.
  if (faults.length > 0) return { documents: [], faults }
  const documents: HouseDocument[] = []
  const nodes = [...parsed].flatMap((each) => nodesIn(yaml, each).map((node) => ({ each, node })))
  for (const [index, { each, node }] of nodes.entries()) {
    const spot = {
      file,
      number: index + 1,
      line: lineAt(node.range?.[0] ?? 0),
      lines: linesOf(yaml, node, lineAt),
    }
    const read = readNode(yaml, each, node, spot)
    if (Array.isArray(read)) faults.push(...read)
    else documents.push(read)
  }
  return { documents, faults }
}

/** A document of YAML may hold a list of ours, as a file of JSON has to where it holds several. */
function nodesIn(yaml: typeof Yaml, { contents }: Yaml.Document.Parsed): Yaml.Node[] {
  if (contents === null || (yaml.isScalar(contents) && contents.value === null)) return []
  return yaml.isSeq(contents) ? contents.items.filter((item) => yaml.isNode(item)) : [contents]
}

/** Of its fields, and of those of its `spec`. */
function linesOf(
  yaml: typeof Yaml,
  node: Yaml.Node,
  lineAt: (offset: number) => number,
): Map<string, number> {
  const pairsOf = (map: unknown, before: string) =>
    (yaml.isMap(map) ? map.items : []).flatMap(({ key, value }) =>
      yaml.isScalar(key)
        ? [{ name: `${before}${String(key.value)}`, line: lineAt(key.range?.[0] ?? 0), value }]
        : [],
    )
  const fields = pairsOf(node, '')
  const inSpec = pairsOf(fields.find(({ name }) => name === 'spec')?.value, 'spec.')
  return new Map([...fields, ...inSpec].map(({ name, line }) => [name, line]))
}

function readNode(
  yaml: typeof Yaml,
  document: Yaml.Document.Parsed,
  node: Yaml.Node,
  spot: Spot,
): HouseDocument | string[] {
  if (!yaml.isMap(node)) return [`${printSpot(spot)}: must be fields and values, such as kind: partner`]
  try {
    return readFields(node.toJS(document, { maxAliasCount: limits.aliases }) as Fields, spot)
  } catch (error) {
    return [`${printSpot(spot)}: ${messageOf(error)}`]
  }
}

type Fields = Readonly<Record<string, unknown>>

/** What is in `spec` is for the gateway to judge. */
function readFields(
  { kind, name, owner, spec = {}, ...others }: Fields,
  spot: Spot,
): HouseDocument | string[] {
  const known = documentKinds.find((each) => each === kind)
  const problems = [
    ['kind', known === undefined && findKindProblem(kind)],
    ['name', findNameProblem(name)],
    [
      'owner',
      owner !== undefined &&
        owner !== null &&
        !isText(owner) &&
        'must be a text, such as platform, or null for none',
    ],
    ['spec', !isFields(spec) && 'must hold fields and values'],
    ...Object.keys(others).map((field) => [field, findUnknownProblem(field)] as const),
  ] as const
  const faults = problems.flatMap(([field, problem]) =>
    problem ? [`${printSpot(spot, field)}: ${field} ${problem}`] : [],
  )
  if (!known || !isText(name) || !isFields(spec) || faults.length > 0) return faults
  return { kind: known, name, owner: isText(owner) || owner === null ? owner : undefined, spec, spot }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function findKindProblem(kind: unknown): string {
  const nearest = typeof kind === 'string' ? findNearest(kind, documentKinds) : undefined
  return `must be one of ${documentKinds.join(', ')}.${didYouMean(nearest)}`
}

function findNameProblem(name: unknown): string | undefined {
  if (name === undefined) return 'is missing: the name that you choose for it, such as acme'
  if (typeof name !== 'string') return `must be a text: write "${String(name)}" in quotes`
  return name === '' ? 'must not be empty' : undefined
}

function findUnknownProblem(field: string): string {
  if (field === 'status' || field === 'etag') return 'is what the gateway says: leave it out'
  return 'is no field of a document. It has kind, name, owner and spec; what you say of it goes into spec'
}

/** Of two that say what one thing is, neither is right. */
function findTwice(documents: readonly HouseDocument[]): string[] {
  return [...Map.groupBy(documents, keyOf)].flatMap(([key, [first, ...others]]) =>
    others.map(({ spot }) => `${printSpot(spot)}: ${key} stands in ${printSpot(first!.spot)} already`),
  )
}
