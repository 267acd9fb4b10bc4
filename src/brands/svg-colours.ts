/**
 * The colours of an SVG that has been read and written anew. How much each paints is not measured: every
 * shape counts the same, for its fill and for its stroke.
 */

import type { PaintedColours } from './png-colours.ts'
import { parseSvg, type SvgElement } from './svg.ts'

const shapes = new Set(['path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon'])
/** They are drawn only where something refers to them. */
const unseen = new Set(['defs', 'clipPath', 'linearGradient', 'radialGradient'])

type Paints = Readonly<Record<'fill' | 'stroke' | 'color', string>>

export function coloursOfSvg(bytes: Buffer): PaintedColours {
  const root = parseSvg(bytes.toString('utf8'))
  const stops = new Map(allOf(root).map((each) => [each.attributes.get('id') ?? '', stopsOf(each)]))
  const counted = new Map<string, number>()
  const paint = (text: string, { color }: Paints) => {
    const reference = /^url\(#([^)]*)\)/.exec(text)?.[1]
    const named =
      reference === undefined ? [text === 'currentColor' ? color : text] : (stops.get(reference) ?? [])
    const colours = named.filter((each) => each !== 'none' && each !== 'transparent').map(parseColour)
    for (const each of colours) counted.set(each, (counted.get(each) ?? 0) + 1 / colours.length)
  }
  const walk = ({ name, attributes, children }: SvgElement, inherited: Paints) => {
    if (unseen.has(name) || attributes.get('display') === 'none' || attributes.get('opacity') === '0') return
    const own = (key: keyof Paints) => attributes.get(key) ?? inherited[key]
    const paints: Paints = { fill: own('fill'), stroke: own('stroke'), color: own('color') }
    if (shapes.has(name)) {
      if (name !== 'line' && attributes.get('fill-opacity') !== '0') paint(paints.fill, paints)
      if (attributes.get('stroke-opacity') !== '0') paint(paints.stroke, paints)
    }
    for (const child of children) walk(child, paints)
  }
  walk(root, { fill: 'black', stroke: 'none', color: 'black' })
  return counted
}

function allOf(element: SvgElement): SvgElement[] {
  return [element, ...element.children.flatMap(allOf)]
}

function stopsOf({ children }: SvgElement): string[] {
  return children
    .filter(({ name }) => name === 'stop')
    .map(({ attributes }) => attributes.get('stop-color') ?? 'black')
}

/** The names that programs write. */
const names: ReadonlyMap<string, string> = new Map(
  Object.entries({
    black: '#000000',
    white: '#ffffff',
    red: '#ff0000',
    green: '#008000',
    blue: '#0000ff',
    yellow: '#ffff00',
    orange: '#ffa500',
    purple: '#800080',
    navy: '#000080',
    teal: '#008080',
    maroon: '#800000',
    olive: '#808000',
    lime: '#00ff00',
    aqua: '#00ffff',
    cyan: '#00ffff',
    fuchsia: '#ff00ff',
    magenta: '#ff00ff',
    silver: '#c0c0c0',
    gray: '#808080',
    grey: '#808080',
  }),
)

/** `unknown` for what is written in another way. */
function parseColour(text: string): string {
  const lower = text.trim().toLowerCase()
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])[0-9a-f]?$/.exec(lower)
  if (short)
    return `#${short
      .slice(1, 4)
      .map((digit) => digit + digit)
      .join('')}`
  const long = /^(#[0-9a-f]{6})(?:[0-9a-f]{2})?$/.exec(lower)
  if (long) return long[1]!
  const parts = /^rgba?\(([^)]*)\)$/
    .exec(lower)?.[1]
    ?.split(/[\s,/]+/)
    .filter((each) => each !== '')
  return (parts ? printParts(parts.slice(0, 3)) : names.get(lower)) ?? 'unknown'
}

function printParts(parts: readonly string[]): string | undefined {
  const bytes = parts.map((part) => {
    const value = part.endsWith('%') ? (Number(part.slice(0, -1)) * 255) / 100 : Number(part)
    return Math.min(255, Math.max(0, Math.round(value)))
  })
  if (bytes.length !== 3 || bytes.some(Number.isNaN)) return undefined
  return `#${bytes.map((each) => each.toString(16).padStart(2, '0')).join('')}`
}
