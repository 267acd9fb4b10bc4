/** The source as a house: its files, the folders that are its rooms, and which room knows which. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const home = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

interface Import {
  /** From the project's folder. */
  readonly path: string
  /** What is taken from there; undefined for all of it (`import * as`, `import()`). */
  readonly names: readonly string[] | undefined
}

export function readSources(folder: string): SourceFile[] {
  return readdirSync(join(home, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readSource(relative(home, join(entry.parentPath, entry.name))))
}

const imported =
  /(?:^(?:import|export) (?:type )?(?:\{([^}]*)\}|[^'"]*?)\s*from |\bimport\(\s*|^import )'(\.[^']+)'/gm

function readSource(path: string): SourceFile {
  const text = readFileSync(join(home, path), 'utf8')
  const imports = [...text.matchAll(imported)].map(([, names, file]) => ({
    path: normalize(join(dirname(path), file!)),
    names: names === undefined ? undefined : namesIn(names),
  }))
  return { path, text, imports }
}

/** `a, type b as c`: a and b. */
function namesIn(list: string): string[] {
  return list
    .split(',')
    .map(
      (one) =>
        one
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0]!,
    )
    .filter((name) => name !== '')
}

/** A folder below `src/`; a file that stands beside the folders is a room of its own. */
export function roomOf(path: string): string {
  const folder = dirname(relative('src', path))
  return folder === '.' ? relative('src', path) : folder
}

/** Which rooms a room knows, for values or types. */
export type Plan = ReadonlyMap<string, ReadonlySet<string>>

export function planOf(sources: readonly SourceFile[]): Plan {
  const plan = new Map<string, Set<string>>()
  for (const { path, imports } of sources) {
    const known = plan.get(roomOf(path)) ?? new Set()
    plan.set(roomOf(path), known)
    for (const { path: other } of imports) if (roomOf(other) !== roomOf(path)) known.add(roomOf(other))
  }
  return plan
}

/** Each way that leads back to where it began, once. */
export function findCircles(knows: ReadonlyMap<string, Iterable<string>>): string[] {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (one: string, way: readonly string[]) => {
    if (way.includes(one)) circles.push([...way.slice(way.indexOf(one)), one].join(' → '))
    if (way.includes(one) || done.has(one)) return
    for (const other of knows.get(one) ?? []) visit(other, [...way, one])
    done.add(one)
  }
  for (const one of knows.keys()) visit(one, [])
  return circles
}

/** The folders whose rooms are drawn; the first is the house. */
const drawn = ['', 'webhooks', 'web', 'api']

/** In Mermaid, each below a line that says what it is. */
export function drawings(plan: Plan): string[] {
  return drawn.map((folder) => `${titleOf(folder)}\n${drawRooms(plan, folder)}`)
}

/** A document with its drawings made anew. */
export function redraw(document: string, plan: Plan): string {
  return drawings(plan).reduce((text, drawing) => {
    const from = text.indexOf(drawing.slice(0, drawing.indexOf('\n')))
    const to = text.indexOf('\n```\n', from)
    if (from < 0 || to < 0) throw new Error(`There is no place for ${drawing}`)
    return text.slice(0, from) + drawing + text.slice(to + '\n```'.length)
  }, document)
}

const titleOf = (folder: string) => `<!-- drawn by npm run draw: src/${folder} -->`

/** From each room an arrow to those that it reaches by no other way. */
function drawRooms(plan: Plan, folder: string): string {
  const inside = gather(plan, folder)
  const arrows = [...inside].flatMap(([room, known]) =>
    [...known]
      .filter((other) => ![...known].some((via) => via !== other && reaches(inside, via, other)))
      .map((other) => `  ${printRoom(room)} --> ${printRoom(other)}`),
  )
  return ['```mermaid', 'flowchart TD', ...arrows.sort(), '```'].join('\n')
}

const printRoom = (room: string) => `${room.replaceAll(/\W/g, '_')}[${room}]`

/** The folders that a tree in a document names, below its line `src/`. */
export function listFolders(document: string): Set<string> {
  const lines = document.split('\n')
  const first = lines.indexOf('src/') + 1
  const folders = new Set<string>()
  const way: string[] = []
  for (const line of lines.slice(
    first,
    lines.findIndex((each, index) => index >= first && /^\S/.test(each)),
  )) {
    const [, indent, name] = /^( +)([\w-]+)\//.exec(line) ?? []
    if (!indent || !name) continue
    way.splice(indent.length / 2 - 1, way.length, name)
    folders.add(way.join('/'))
  }
  return folders
}

/** As a plan of the folder's own rooms, each with all that is inside it. */
function gather(plan: Plan, folder: string): Map<string, Set<string>> {
  const prefix = folder === '' ? '' : `${folder}/`
  const nameOf = (room: string) =>
    room.startsWith(prefix)
      ? room.slice(prefix.length).split('/')[0]!
      : room === folder
        ? 'routes'
        : undefined
  const inside = new Map<string, Set<string>>()
  for (const [room, known] of plan) {
    const name = nameOf(room)
    if (name === undefined) continue
    const others = inside.get(name) ?? new Set()
    inside.set(name, others)
    for (const other of known) {
      const otherName = nameOf(other)
      if (otherName !== undefined && otherName !== name) others.add(otherName)
    }
  }
  return inside
}

function reaches(plan: Plan, from: string, to: string): boolean {
  const known = plan.get(from) ?? new Set()
  return known.has(to) || [...known].some((via) => reaches(plan, via, to))
}
