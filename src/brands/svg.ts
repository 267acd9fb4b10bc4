/**
 * SVG, of which only shapes and their paint are known here: a strict reader of XML with a list of what may
 * stand in it. What is not on the list is refused by its name, never mended: no script, no event, no style
 * sheet, no text, no image, no reference to anything but a paint or a clip of the same file, no document type
 * and so no entity. The file is written anew from what was understood.
 */
import { isUtf8 } from 'node:buffer'
import { ImageRefusal, type ReencodedImage } from './reencoded-image.ts'

const elementsAtMost = 5_000
const depthAtMost = 32
const sideMost = 10_000

const shapes = ['path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon']
const gradients = ['linearGradient', 'radialGradient']
const known = new Set(['svg', 'g', 'defs', 'clipPath', 'stop', ...gradients, ...shapes])
/** Words for people that no picture shows. */
const leftOut = new Set(['title', 'desc'])

const paint =
  'fill fill-opacity fill-rule stroke stroke-width stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray stroke-dashoffset stroke-opacity opacity color clip-rule clip-path stop-color stop-opacity paint-order vector-effect display visibility'
const geometry =
  'd x y x1 y1 x2 y2 cx cy r rx ry fx fy fr width height points transform pathLength viewBox preserveAspectRatio gradientUnits gradientTransform spreadMethod clipPathUnits offset id'
const styles = new Set(paint.split(' '))
const attributes = new Set([...styles, ...geometry.split(' ')])
/** What programs that draw leave behind, and no picture needs. */
const ignored =
  /^(version|baseProfile|class|xml:space|enable-background|xmlns:xlink|data-[\w-]+|role|aria-hidden|focusable)$/
const svgSpace = 'http://www.w3.org/2000/svg'

export interface SvgElement {
  readonly name: string
  readonly attributes: Map<string, string>
  readonly children: SvgElement[]
}

export function readSvg(bytes: Buffer): ReencodedImage {
  const root = parseSvg(decode(bytes))
  const [width, height] = sizeOf(root)
  if (!root.attributes.has('viewBox')) root.attributes.set('viewBox', `0 0 ${width} ${height}`)
  root.attributes.delete('width')
  root.attributes.delete('height')
  const text = print(root, ` xmlns="${svgSpace}" width="${width}" height="${height}"`)
  return { width, height, bytes: Buffer.from(text) }
}

function refused(why: string): ImageRefusal {
  return new ImageRefusal(`is neither a PNG nor an SVG that can be used: it ${why}`)
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw refused('is not text')
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]/.test(text)) throw refused('is not text')
  if (/<!(?!--)/.test(text)) throw refused('has a document type, an entity or raw text')
  return text
}

/** A tag, a comment, a declaration, or the words between. */
const pieces =
  /<!--(?:(?!--)[\s\S])*-->|<\?xml\s[^?<>]*\?>|<\/([A-Za-z][\w:.-]*)\s*>|<([A-Za-z][\w:.-]*)((?:\s+[A-Za-z_][\w:.-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/gy

export function parseSvg(text: string): SvgElement {
  const open: SvgElement[] = []
  let root: SvgElement | undefined
  let count = 0
  pieces.lastIndex = 0
  while (pieces.lastIndex < text.length) {
    const piece = pieces.exec(text)
    if (!piece) throw refused('is not XML that can be read')
    const [whole, closed, opened, written = '', isEmpty, words] = piece
    const parent = open.at(-1)
    if (words !== undefined) checkWords(words, parent)
    else if (closed !== undefined) {
      if (open.pop()?.name !== closed) throw refused(`closes <${closed}> where it is not open`)
    } else if (opened !== undefined) {
      if (++count > elementsAtMost || open.length >= depthAtMost) throw refused('has too many elements')
      const element = readElement(opened, written, open)
      if (parent) parent.children.push(element)
      else if (root) throw refused('has more than one root')
      else root = element
      if (isEmpty === '') open.push(element)
    } else if (whole.startsWith('<?') && piece.index > 0) throw refused('has a declaration inside')
  }
  if (!root || open.length > 0) throw refused('is not XML that can be read')
  if (root.name !== 'svg') throw refused('does not begin with <svg>')
  return root
}

function checkWords(words: string, parent: SvgElement | undefined): void {
  if (words.trim() !== '' && !(parent && leftOut.has(parent.name)))
    throw refused('has text, which has to be drawn as shapes')
}

function readElement(name: string, written: string, open: readonly SvgElement[]): SvgElement {
  const parent = open.at(-1)
  const isKnown = known.has(name) || leftOut.has(name)
  if (!isKnown || (parent && leftOut.has(parent.name))) throw refused(`has a <${name}>, which is not allowed`)
  if (name === 'svg' && parent) throw refused('has an <svg> inside')
  const attributes = readAttributes(name, written)
  // A clip of clips of clips would be drawn as often as their numbers multiplied.
  const isInClip = name === 'clipPath' || open.some((each) => each.name === 'clipPath')
  if (isInClip && attributes.has('clip-path')) throw refused('has a clip inside a clip')
  return { name, attributes, children: [] }
}

function readAttributes(element: string, written: string): Map<string, string> {
  const pairs = [...written.matchAll(/(?<![\w:.-])([A-Za-z_][\w:.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)]
  const values = new Map(
    pairs.map(([, name = '', double, single]) => [name, (double ?? single ?? '').trim()]),
  )
  if (values.size < pairs.length) throw refused(`has an attribute of <${element}> twice`)
  const read = new Map<string, string>()
  for (const [name, value] of values) if (name !== 'style') addAttribute(read, element, name, value)
  // A style counts for more than an attribute does.
  addStyles(read, values.get('style') ?? '')
  return read
}

function addAttribute(into: Map<string, string>, element: string, name: string, value: string): void {
  if (ignored.test(name)) return
  if (name === 'xmlns') {
    if (value !== svgSpace) throw refused('has a foreign namespace')
    return
  }
  if (name === 'href' || name === 'xlink:href') {
    if (!gradients.includes(element) || !/^#[A-Za-z_][\w.-]*$/.test(value))
      throw refused('refers to something else')
    into.set('href', value)
    return
  }
  if (!attributes.has(name))
    throw refused(`has the attribute ${name.slice(0, 40)} on <${element}>, which is not allowed`)
  add(into, name, value)
}

function addStyles(into: Map<string, string>, text: string): void {
  for (const declaration of text.split(';').filter((each) => each.trim() !== '')) {
    const [name = '', value, ...more] = declaration.split(':').map((part) => part.trim())
    if (value === undefined || more.length > 0 || !styles.has(name))
      throw refused(`has the style ${declaration.trim().slice(0, 40)}, which is not allowed`)
    add(into, name, value)
  }
}

/**
 * Numbers, names of colours and ways, paths: no sign that could begin an address, an escape or a piece of
 * markup.
 */
const plain = /^[\w\s#%.,()+-]*$/
const local = /^url\(#[A-Za-z_][\w.-]*\)$/

function add(into: Map<string, string>, name: string, value: string): void {
  const isPlain =
    plain.test(value) && !/url|expression|import/i.test(name === 'd' || name === 'id' ? '' : value)
  const isLocal = local.test(value) && /^(fill|stroke|clip-path)$/.test(name)
  if (!isPlain && !isLocal) throw refused(`has a value of ${name} that is not allowed`)
  if (name === 'id' && !/^[A-Za-z_][\w.-]*$/.test(value)) throw refused('has an id that is not allowed')
  into.set(name, value)
}

function sizeOf({ attributes }: SvgElement): [number, number] {
  const [, , boxWidth, boxHeight, ...more] = (attributes.get('viewBox') ?? '').split(/[\s,]+/).map(Number)
  const [width, height] =
    boxWidth !== undefined && boxHeight !== undefined && more.length === 0
      ? [boxWidth, boxHeight]
      : [lengthOf(attributes, 'width'), lengthOf(attributes, 'height')]
  const isFit = (side: number) => Number.isFinite(side) && side > 0 && side <= sideMost
  if (!isFit(width) || !isFit(height)) throw refused('does not say how large it is: it needs a viewBox')
  return [Math.max(1, Math.round(width)), Math.max(1, Math.round(height))]
}

function lengthOf(attributes: Map<string, string>, name: string): number {
  return Number(/^([\d.]+)(px)?$/.exec(attributes.get(name) ?? '')?.[1])
}

function print({ name, attributes, children }: SvgElement, more = ''): string {
  const written = [...attributes].map(([key, value]) => ` ${key}="${value}"`).join('')
  const inside = children.filter((child) => !leftOut.has(child.name)).map((child) => print(child))
  return `<${name}${more}${written}${inside.length === 0 ? '/>' : `>${inside.join('')}</${name}>`}`
}
