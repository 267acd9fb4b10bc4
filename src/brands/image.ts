/**
 * Images that people upload: a PNG or an SVG, judged by what is in it and never by its name or type, and
 * written anew. What is kept and served holds nothing that the readers have not understood.
 */

import { hash } from 'node:crypto'
import { after, day } from '../clock.ts'
import type { Changes } from '../database/changes.ts'
import type { Sql } from '../database/database.ts'
import { type Memory, openMemory } from '../database/memory.ts'
import { type ImageType, imageTypes } from '../vocabulary/brand.ts'
import { deleteUnusedImages, insertImage, selectImage, selectShownImage } from './images.sql.ts'
import { readPng } from './png.ts'
import { ImageRefusal, type ReencodedImage } from './reencoded-image.ts'
import { readSvg } from './svg.ts'

export const imageMostBytes = 200 * 1024

export interface CheckedImage extends ReencodedImage {
  readonly type: ImageType
}

/** Told after the name of the field: `must be a PNG or an SVG`. */
export async function checkImage(bytes: Buffer): Promise<CheckedImage | { readonly problem: string }> {
  if (bytes.length === 0) return { problem: 'must be a file' }
  if (bytes.length > imageMostBytes) return { problem: tooLarge }
  try {
    const image = isPng(bytes)
      ? { type: imageTypes[0], ...(await readPng(bytes)) }
      : { type: imageTypes[1], ...readSvg(bytes) }
    return image.bytes.length > imageMostBytes ? { problem: tooLarge } : image
  } catch (error) {
    if (!(error instanceof ImageRefusal)) throw error
    return { problem: error.message }
  }
}

const tooLarge = `must have at most ${imageMostBytes / 1024} KB`

function isPng(bytes: Buffer): boolean {
  return bytes[0] === 0x89
}

/** Answers its hash, which is its address. */
export async function storeImage(
  sql: Sql,
  { type, width, height, bytes }: CheckedImage,
  now: Date,
): Promise<string> {
  const digest = hash('sha256', bytes, 'hex')
  await sql.query(insertImage, { hash: digest, type, width, height, bytes, storedAt: now })
  return digest
}

export interface StoredImage {
  readonly type: ImageType
  readonly bytes: Buffer
}

export interface ImageStore {
  /** For all visitors: of a brand, or accepted. */
  find(hash: string): Promise<StoredImage | undefined>
  /** For operators who may see what waits. */
  findAny(hash: string): Promise<StoredImage | undefined>
}

const rememberedBytes = 4 * 1024 * 1024

/** What has a hash never changes; whether it is public may. */
export function openImages(sql: Sql, changes: Changes): ImageStore {
  const memory: Memory<StoredImage> = openMemory(changes, rememberedBytes)
  const read = async (hash: string) => {
    const [value] = await sql.query(selectShownImage, { hash })
    return value && { value, tags: [`image:${hash}`] }
  }
  return {
    find: async (hash) => memory.recall(hash) ?? memory.learn(hash, () => read(hash)),
    async findAny(hash) {
      const [image] = await sql.query(selectImage, { hash })
      return image
    },
  }
}

/** A form that is under way may still come to name it. */
const unusedMs = day

export function removeUnusedImages(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(deleteUnusedImages, { until: after(now, -unusedMs), most })
}
