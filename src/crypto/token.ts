/**
 * Every secret that Countersign hands out has one shape: `cs`, a letter for the environment, a letter for the
 * kind, 43 random letters and digits (256 bits) and a checksum of 6. The prefix keeps the kinds apart and
 * lets secret scanners find leaked ones; the checksum refuses garbage without a query. Letters and digits
 * only, because some clients percent-encode anything else, or decode twice.
 */
import { crc32 } from 'node:zlib'
import type { Environment } from '../vocabulary/environment.ts'
import { keysOf } from '../vocabulary/record-of.ts'
import { sha256 } from './hash.ts'
import { lettersOf, randomLetters } from './random.ts'

const kindLetters = {
  code: 'c',
  access: 'a',
  refresh: 'r',
  personal: 'p',
  clientSecret: 'k',
  serviceSecret: 'v',
  session: 'w',
  invitation: 'i',
  reset: 't',
  switch: 'x',
  administration: 'm',
  client: 'o',
} as const

export type TokenKind = keyof typeof kindLetters

const environmentLetters = { live: 'l', sandbox: 's' } as const

const shape = /^cs([ls])([acrpkvwitxmo])([A-Za-z0-9]{43})([A-Za-z0-9]{6})$/
export const tokenLength = 53

export interface Token {
  readonly text: string
  readonly kind: TokenKind
  readonly environment: Environment
  readonly hash: Buffer
}

export function issueToken(kind: TokenKind, environment: Environment): Token {
  return assemble(kind, environment, randomLetters(43))
}

/**
 * The same digest always gives the same token: for answers that must be repeatable without storing the token.
 */
export function deriveToken(kind: TokenKind, environment: Environment, digest: Buffer): Token {
  return assemble(kind, environment, lettersOf(digest))
}

/** Undefined for anything that Countersign cannot have issued. */
export function parseToken(text: string): Token | undefined {
  if (text.length !== tokenLength) return undefined
  const match = shape.exec(text)
  if (!match || checksum(text.slice(0, -6)) !== match[4]) return undefined
  const environment: Environment = match[1] === 'l' ? 'live' : 'sandbox'
  const kind = kindsByLetter.get(match[2])
  return kind && { text, kind, environment, hash: sha256(text) }
}

/** Which environment it is of by its beginning, whatever it is worth. */
export function environmentOfToken(text: string): Environment | undefined {
  return environmentsByLetter.get(/^cs(.)/.exec(text)?.[1])
}

/** What may be shown of a token again after it was shown once. */
export function tokenHint(token: Token): string {
  return token.text.slice(-4)
}

const environmentsByLetter = new Map<string | undefined, Environment>(
  keysOf(environmentLetters).map((environment) => [environmentLetters[environment], environment]),
)

const kindsByLetter = new Map<string | undefined, TokenKind>(
  keysOf(kindLetters).map((kind) => [kindLetters[kind], kind]),
)

function assemble(kind: TokenKind, environment: Environment, letters: string): Token {
  const body = `cs${environmentLetters[environment]}${kindLetters[kind]}${letters}`
  const text = body + checksum(body)
  return { text, kind, environment, hash: sha256(text) }
}

function checksum(body: string): string {
  return crc32(body).toString(36).padStart(7, '0').slice(-6)
}
