/**
 * Signatures that an auditor can check with the log's public key (Ed25519): of heads of the chain, and of
 * what leaves the log as evidence. The key follows from the one that signs anchors, so that it lives and is
 * kept as that one is.
 */
import { createPublicKey, hkdfSync, sign, verify } from 'node:crypto'
import { privateKeyOf, publicBytesOf } from '../crypto/ed25519.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { findAnchorKey, getAnchorKey } from './anchor-key.ts'
import { type ChainHead, printHead } from './block.ts'
import { insertHead } from './heads.sql.ts'

export interface HeadSigner {
  /** 32 bytes as base64url. */
  readonly publicKey: string
  sign(text: string): Buffer
}

export async function openHeadSigner(sql: Sql, vault: Vault): Promise<HeadSigner> {
  return signerOf(await getAnchorKey(sql, vault))
}

/** Undefined before the first head was signed. */
export async function findPublicKey(sql: Sql, vault: Vault): Promise<string | undefined> {
  const key = await findAnchorKey(sql, vault)
  return key && signerOf(key).publicKey
}

function signerOf(anchorKey: Buffer): HeadSigner {
  const key = privateKeyOf(Buffer.from(hkdfSync('sha256', anchorKey, '', 'audit-head-signature', 32)))
  return { publicKey: publicBytesOf(key), sign: (text) => sign(null, Buffer.from(text), key) }
}

export function isSignedBy(publicKey: string, text: string, signature: Buffer): boolean {
  if (publicKey === '') return false
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  return verify(null, Buffer.from(text), key, signature)
}

/** What is signed of a head: when it was the newest, and what it is. */
export function printSignedHead(head: ChainHead, at: Date): string {
  return `countersign-audit-head\n${at.toISOString()}\n${printHead(head)}`
}

/** What is signed of a file of evidence: the hash of all its lines but the last. */
export function printSignedFile(sha256: string): string {
  return `countersign-audit-evidence\n${sha256}`
}

/** The newest head, unless it is signed already. */
export async function signHead(sql: Sql, signer: HeadSigner, head: ChainHead, now: Date): Promise<void> {
  if (head.position > 0)
    await sql.query(insertHead, {
      position: head.position,
      at: now,
      signature: signer.sign(printSignedHead(head, now)),
    })
}
