/** The few files of public/ and the brand's colours, read once; their addresses carry a hash, so that browsers may keep them for ever. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { brand, printAccent } from '../../brand.ts'

const folder = new URL('../../../public/', import.meta.url)
const types = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
])

const contents: readonly (readonly [string, Buffer])[] = [
  ...readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder))] as const),
  ['brand.css', Buffer.from(printAccent(brand.accent))],
]

const files = new Map(
  contents.map(([name, bytes]) => [
    name,
    { bytes, hash: createHash('sha256').update(bytes).digest('hex').slice(0, 12) },
  ]),
)

export function assetUrl(name: string): string {
  return `/assets/${files.get(name)!.hash}/${name}`
}

export function serveAssets(app: FastifyInstance): void {
  for (const [name, { bytes }] of files) {
    app.get(assetUrl(name), { schema: { hide: true } as object, logLevel: 'silent' }, (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .type(types.get(extname(name))!)
        .send(bytes),
    )
  }
}
