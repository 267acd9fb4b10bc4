/**
 * What pages load beside themselves: the few files of public/, the colours of a brand, and images that were
 * uploaded. Their addresses change with what is in them, by a hash or by the colours themselves, so that
 * browsers may keep them for ever.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { StoredImage } from '../../brands/image.ts'
import { printPalette } from '../../brands/palette.ts'
import type { Context } from '../../context.ts'
import { NotFound } from '../../problem.ts'
import {
  type Brand,
  houseAccent,
  imageTypes,
  type Mode,
  type Picture,
  printAccent,
} from '../../vocabulary/brand.ts'
import { paramsOf, type Visit } from './visit.ts'

const folder = new URL('../../../public/', import.meta.url)
const types = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
])

const fromFolder = readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder))] as const)

const files = new Map(
  [...fromFolder, ['brand.css', Buffer.from(printAccent(houseAccent))] as const].map(([name, bytes]) => [
    name,
    { bytes, hash: createHash('sha256').update(bytes).digest('hex').slice(0, 12) },
  ]),
)

export function assetUrl(name: string): string {
  return `/assets/${files.get(name)!.hash}/${name}`
}

/** A style sheet as the browser prefers it, or for one mode whatever that is. */
export function styleUrl(name: string, only?: Mode): string {
  return only === undefined ? assetUrl(name) : `/assets/${only}/${files.get(name)!.hash}/${name}`
}

export function brandStyleUrl({ colours }: Brand, only?: Mode): string {
  if (!colours) return styleUrl('brand.css', only)
  const all = [colours.accent.light, colours.accent.dark, colours.background.light, colours.background.dark]
  return `/assets/colours/${[...all.map((colour) => colour.slice(1)), ...(only ? [only] : [])].join('-')}.css`
}

export function pictureUrl(picture: Picture): string {
  return 'file' in picture ? assetUrl(picture.file) : imageUrl(picture.hash, picture.type)
}

export function imageUrl(hash: string, type: StoredImage['type']): string {
  return `/assets/images/${hash}.${endings[type]}`
}

const endings = { 'image/png': 'png', 'image/svg+xml': 'svg' } as const

const unseen = { schema: { hide: true } as object, logLevel: 'silent' } as const

export function serveAssets(app: FastifyInstance, { images }: Pick<Context, 'images'>): void {
  for (const [name, { bytes }] of files) {
    app.get(assetUrl(name), unseen, (_request, reply) => sendForEver(reply, types.get(extname(name))!, bytes))
  }
  for (const name of ['countersign.css', 'portal.css', 'brand.css']) {
    for (const only of ['light', 'dark'] as const) {
      app.get(styleUrl(name, only), unseen, (_request, reply) =>
        sendForEver(reply, types.get('.css')!, fix(name, only)),
      )
    }
  }
  app.get('/assets/colours/:name', unseen, (request, reply) => {
    const text = printColours(paramsOf(request).name ?? '')
    if (text === undefined) throw new NotFound()
    return sendForEver(reply, types.get('.css')!, text)
  })
  app.get('/assets/images/:name', unseen, async (request, reply) => {
    const [, hash, ending] = /^([0-9a-f]{64})\.(png|svg)$/.exec(paramsOf(request).name ?? '') ?? []
    const image = hash === undefined ? undefined : await images.find(hash)
    if (!image || endings[image.type] !== ending) throw new NotFound()
    return sendImage(reply.header('cache-control', forEver), image)
  })
}

const forEver = 'public, max-age=31536000, immutable'

function sendForEver(reply: FastifyReply, type: string, content: Buffer | string): FastifyReply {
  return reply.header('cache-control', forEver).type(type).send(content)
}

/**
 * It is a picture and nothing else: opened by itself, it can load nothing, run nothing, and is of no origin.
 */
function sendImage(reply: FastifyReply, { type, bytes }: StoredImage): FastifyReply {
  return reply
    .headers({
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    })
    .type(imageTypes.find((each) => each === type)!)
    .send(bytes)
}

/** The reader has been let through a gate: no cache keeps it, and opened by itself it is a file. */
export async function sendImageTo({ context, reply }: Visit, hash: string): Promise<FastifyReply> {
  const image = await context.images.findAny(hash)
  if (!image) throw new NotFound()
  const name = `attachment; filename="logo.${endings[image.type]}"`
  return sendImage(reply.headers({ 'cache-control': 'no-store', 'content-disposition': name }), image)
}

/** The part for the other mode never counts. */
function fix(name: string, only: Mode): string {
  const always = only === 'dark' ? 'all' : 'not all'
  const text = files.get(name)!.bytes.toString().replaceAll('(prefers-color-scheme: dark)', always)
  return text.replace('color-scheme: light dark', `color-scheme: ${only}`)
}

const coloursName = /^([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-f]{6})(?:-(light|dark))?\.css$/

function printColours(name: string): string | undefined {
  const found = coloursName.exec(name)
  if (!found) return undefined
  const [accentLight, accentDark, light, dark] = found.slice(1, 5).map((digits) => `#${digits}`) as [
    string,
    ...string[],
  ]
  const colours = {
    accent: { light: accentLight, dark: accentDark! },
    background: { light: light!, dark: dark! },
  }
  return printPalette(colours, found[5] as Mode | undefined)
}
