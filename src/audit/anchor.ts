/**
 * Heads of the chain, kept outside the database. A chain whose newest blocks were removed, or that was
 * computed anew, is whole by itself; it no longer goes through the heads that were written down before. Each
 * is a line: a moment, the head, and a signature.
 */
import { createHmac } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { equalBytes } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { getAnchorKey } from './anchor-key.ts'
import { type ChainHead, parseHead, printHead } from './block.ts'
import { containsHead, findHead } from './chain.ts'
import { openHeadSigner, signHead } from './head-signer.ts'

export interface Anchor {
  readonly at: string
  readonly head: ChainHead
}

const shape = /^v1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15}:[0-9a-f]{64}) ([0-9a-f]{64})$/

export function printAnchor(key: Buffer, head: ChainHead, at: Date): string {
  const said = `v1 ${at.toISOString()} ${printHead(head)}`
  return `${said} ${sign(key, said).toString('hex')}`
}

export function parseAnchor(key: Buffer | undefined, line: string): Anchor | 'forged' | 'unreadable' {
  const [, at, head, signature] = shape.exec(line) ?? []
  if (at === undefined || head === undefined || signature === undefined) return 'unreadable'
  if (!key || !equalBytes(sign(key, `v1 ${at} ${head}`), Buffer.from(signature, 'hex'))) return 'forged'
  return { at, head: parseHead(head) }
}

function sign(key: Buffer, said: string): Buffer {
  return createHmac('sha256', key).update(said).digest()
}

export interface AnchorDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Logger
  /** Undefined where no file is kept: the log of the process tells the head in any case. */
  readonly file: string | undefined
}

export interface AnchorWriter {
  /** Writes the head down when it is another than before. */
  write(): Promise<void>
}

export function openAnchorWriter({ db, vault, clock, log, file }: AnchorDependencies): AnchorWriter {
  let last: ChainHead | undefined
  return {
    async write() {
      const head = await findHead(db)
      if (head.position === 0 || (last && printHead(last) === printHead(head))) return
      if (last && !(await containsHead(db, last)))
        log.error(
          { lost: printHead(last) },
          'the audit log was cut or rewritten: it no longer has a block that it had',
        )
      const anchor = printAnchor(await getAnchorKey(db, vault), head, clock.now())
      await signHead(db, await openHeadSigner(db, vault), head, clock.now())
      log.info({ anchor }, 'head of the audit log')
      if (file !== undefined) await append(file, anchor)
      last = head
    },
  }
}

/**
 * In one write, on a line of its own even behind half a line that a crash left; on the disk before it is
 * counted on.
 */
async function append(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a', 0o600)
  try {
    await file.write(`\n${line}`)
    await file.sync()
  } finally {
    await file.close()
  }
}
