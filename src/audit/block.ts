/**
 * What a block's hash covers, and how its place in the chain is written: the position, the hash before it,
 * and the root of a tree of hashes over its entries. Nothing here needs the database: an auditor who is shown
 * a block judges it by the same lines as the gateway.
 */
import { hash } from 'node:crypto'
import { Invalid } from '../problem.ts'
import { hashLeaf } from './merkle.ts'

/** An entry as it is stored: `details` is the text that PostgreSQL prints. */
export interface BlockEntry {
  readonly id: number
  readonly at: Date
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly environment: string | null
  readonly address: string | null
  readonly requestId: string | null
  readonly details: string
}

export interface ChainHead {
  readonly position: number
  readonly hash: Buffer
}

export const genesis: ChainHead = { position: 0, hash: Buffer.alloc(32) }

export function printHead({ position, hash }: ChainHead): string {
  return `${position}:${hash.toString('hex')}`
}

/** A head as an earlier verification printed it. */
export function parseHead(text: string): ChainHead {
  const [, position, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (position === undefined || hash === undefined)
    throw new Invalid([
      { field: 'anchor', problem: 'must be a head as an earlier run printed it, POSITION:HASH' },
    ])
  return { position: Number(position), hash: Buffer.from(hash, 'hex') }
}

export function hashEntry(entry: BlockEntry): Buffer {
  return hashLeaf(printEntry(entry))
}

/** The entries stand for themselves by the root of the tree over them, and by how many there are. */
export function hashBlock(position: number, previous: Buffer, size: number, root: Buffer): Buffer {
  const lines = ['countersign-audit-block', position, previous.toString('hex'), size, root.toString('hex')]
  return hash('sha256', lines.join('\n'), 'buffer')
}

function printEntry({
  id,
  at,
  actor,
  action,
  subject,
  environment,
  address,
  requestId,
  details,
}: BlockEntry): string {
  return JSON.stringify([id, at.getTime(), actor, action, subject, environment, address, requestId, details])
}
