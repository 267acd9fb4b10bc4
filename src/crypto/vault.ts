/**
 * Seals what must be read back: client secrets (they sign webhooks) and the requests that travel through the
 * browser. AES-256-GCM; each sealed value names its key, so several keys can live at once and be rotated. The
 * purpose is authenticated too (AEAD, with the purpose as associated data): a value sealed for one place
 * cannot be opened in another.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../text/thrown.ts'
import { runKeyCommand } from './key-command.ts'

const keyIdBytes = 4
const ivBytes = 12
const tagBytes = 16

export interface SecretKey {
  readonly id: string
  readonly bytes: Buffer
}

type Keys = readonly [SecretKey, ...SecretKey[]]

/** Keys that are here to be read. */
type KeysAtHand =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'environment'; readonly keys: readonly SecretKey[] }

/** Where keys come from: the first is the one that seals, the others still open. */
export type KeySource = KeysAtHand | { readonly kind: 'command'; readonly line: string }

export interface Vault {
  seal(purpose: string, plain: string): Buffer
  /** Undefined when the value was changed, sealed for another purpose, or its key is gone. */
  open(purpose: string, sealed: Buffer): string | undefined
  /** One derived key a secret key, the sealing one first. */
  derive(purpose: string): [sealing: Buffer, ...others: Buffer[]]
  /** Throws when the keys cannot be read; those of before stay. */
  reload(): Promise<void>
  readonly currentKeyId: string
  readonly keyIds: readonly string[]
}

/** Reads the keys, and makes none: a key file that is away holds the only keys that open what is stored. */
export function openVault(source: KeysAtHand): Vault {
  return vaultOf(source, readKeys(source))
}

export async function openVaultOf(source: KeySource): Promise<Vault> {
  return vaultOf(source, await askForKeys(source))
}

function vaultOf(source: KeySource, first: Keys): Vault {
  let keys = first
  const find = (id: string) => keys.find((key) => key.id === id)
  /** A file that is away for a while, or half written, changes nothing. */
  const tryFile = (file: KeysAtHand) => {
    try {
      keys = readKeys(file)
    } catch {
      // `reload` tells an operator who rotates keys, and the doctor looks at the file.
    }
  }
  return {
    seal(purpose, plain) {
      const [key] = keys
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from(key.id, 'hex'), iv, cipher.getAuthTag(), sealed])
    },
    open(purpose, sealed) {
      if (sealed.length < keyIdBytes + ivBytes + tagBytes) return undefined
      const id = sealedKeyId(sealed)
      if (!find(id) && source.kind === 'file') tryFile(source)
      const key = find(id)
      return key && decrypt(key, purpose, sealed.subarray(keyIdBytes))
    },
    derive(purpose) {
      const [sealing, ...others] = keys
      return [deriveFrom(sealing, purpose), ...others.map((key) => deriveFrom(key, purpose))]
    },
    async reload() {
      const fresh = await askForKeys(source)
      if (source.kind === 'command' && !fresh.some(({ id }) => id === keys[0].id))
        throw new Error(
          `SECRET_KEY_COMMAND no longer prints the key ${keys[0].id}, which stored secrets are sealed with.`,
        )
      keys = fresh
    },
    get currentKeyId() {
      return keys[0].id
    },
    get keyIds() {
      return keys.map((key) => key.id)
    },
  }
}

function deriveFrom({ bytes }: SecretKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', bytes, '', purpose, 32))
}

export function sealedKeyId(sealed: Buffer): string {
  return sealed.subarray(0, keyIdBytes).toString('hex')
}

export function generateKey(): SecretKey {
  return toKey(randomBytes(32))
}

/** Accepts 32 bytes as base64, base64url or hex; a message in the place of a key is none. */
export function parseKey(text: string): SecretKey | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return toKey(Buffer.from(text, 'hex'))
  return /^[\w+/-]{43}=?$/.test(text) ? toKey(Buffer.from(text, 'base64')) : undefined
}

export function printKey(key: SecretKey): string {
  return key.bytes.toString('base64url')
}

/** Written beside and renamed, so that a crash leaves either the old keys or the new ones. */
export function writeKeyFile(path: string, keys: readonly SecretKey[]): void {
  renameSync(writeDraft(path, keys), path)
}

/**
 * For a database in which nothing is sealed (database/keys.ts). Of several who start at once on a new folder,
 * one makes the key and all use it.
 */
export function makeKeyFile(path: string): void {
  const draft = writeDraft(path, [generateKey()])
  try {
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
}

function writeDraft(path: string, keys: readonly SecretKey[]): string {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  writeFileSync(draft, keys.map((key) => `${printKey(key)}\n`).join(''), { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  return draft
}

export function readKeyFile(path: string): SecretKey[] {
  return parseKeyLines(readFileSync(path, 'utf8'), path)
}

/** A key a line; empty lines and those that begin with # say nothing. */
function parseKeyLines(text: string, where: string): SecretKey[] {
  return text.split('\n').flatMap((each, index) => {
    const line = each.trim()
    if (line === '' || line.startsWith('#')) return []
    const key = parseKey(line)
    if (!key) throw new Error(`Line ${index + 1} of ${where} is not a key of 32 bytes in base64 or hex.`)
    return [key]
  })
}

async function askForKeys(source: KeySource): Promise<Keys> {
  if (source.kind !== 'command') return readKeys(source)
  const printed = await runKeyCommand(source.line)
  return some(parseKeyLines(printed, 'what SECRET_KEY_COMMAND printed'), 'What SECRET_KEY_COMMAND printed')
}

function readKeys(source: KeysAtHand): Keys {
  if (source.kind === 'environment') return some(source.keys, 'SECRET_KEY')
  if (existsSync(source.path)) return some(readKeyFile(source.path), source.path)
  throw new Error(
    `The key file ${source.path} does not exist. Put it back, or name where it is in SECRET_KEY_FILE.`,
  )
}

function some([sealing, ...others]: readonly SecretKey[], where: string): Keys {
  if (!sealing) throw new Error(`${where} holds no key.`)
  return [sealing, ...others]
}

function toKey(bytes: Buffer): SecretKey {
  return { id: hash('sha256', bytes, 'hex').slice(0, keyIdBytes * 2), bytes }
}

function decrypt(key: SecretKey, purpose: string, body: Buffer): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, body.subarray(0, ivBytes))
    .setAAD(Buffer.from(purpose))
    .setAuthTag(body.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return decipher.update(body.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
