/** What a setting may be. A kind turns the text of a setting into its value, or says what it must be. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseKey, type SecretKey } from '../crypto/vault.ts'
import { isLoopbackHost } from '../network/loopback.ts'
import { codeOf } from '../text/thrown.ts'

export type ValueKind<Value> = (text: string) => Value | SettingMistake

/** Told after the name of the setting. */
export class SettingMistake {
  readonly told: string
  /** Whether the text is repeated: `, not "…"`. What is secret never is. */
  readonly repeats: boolean
  readonly why: string

  constructor(told: string, repeats = false, why = '') {
    this.told = told
    this.repeats = repeats
    this.why = why
  }
}

const must = (be: string, why?: string) => new SettingMistake(`must ${be}`, true, why)

export const text: ValueKind<string> = (text) => text

/** Not set, it is undefined. */
export function optional<Value>(kind: ValueKind<Value>): ValueKind<Value | undefined> {
  return (text) => (text === '' ? undefined : kind(text))
}

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return (text) =>
    isWhole(text) && Number(text) >= least && Number(text) <= most
      ? Number(text)
      : must(`be a whole number ${range}`)
}

const isWhole = (text: string) => /^\d+$/.test(text)

export function integerOr(word: string, meant: () => number, least: number, most: number): ValueKind<number> {
  const number = integer(least, most)
  return (text) => {
    const value = text === word ? meant() : number(text)
    return value instanceof SettingMistake
      ? must(`be ${word} or a whole number from ${least} to ${most}`)
      : value
  }
}

/** Of days that something is kept, with the reason for the least of them. */
export function days(least: number, why: string): ValueKind<number> {
  return (text) =>
    isWhole(text) && Number(text) >= least ? Number(text) : must(`be at least ${least} days`, why)
}

export const port = integer(0, 65_535)

export const ports: ValueKind<readonly number[]> = (text) => {
  const found = split(text).map(Number)
  const areFit = found.every((each) => Number.isInteger(each) && each > 0 && each < 65_536)
  return areFit ? found : must('be port numbers separated by commas')
}

export const share: ValueKind<number> = (text) =>
  /^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Number(text) : must('be a number from 0 to 1')

export function oneOf<const Word extends string>(words: readonly Word[]): ValueKind<Word> {
  return (text) => words.find((word) => word === text) ?? must(`be one of ${words.join(', ')}`)
}

const trueOrFalse = oneOf(['true', 'false'])

export const flag: ValueKind<boolean> = (text) => {
  const word = trueOrFalse(text)
  return word instanceof SettingMistake ? word : word === 'true'
}

export const list: ValueKind<readonly string[]> = (text) => split(text)

function split(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

const isAmong =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): text is Word =>
    words.some((word) => word === text)

/** Any number of them, or all. */
export function someOf<const Word extends string>(words: readonly Word[]): ValueKind<readonly Word[]> {
  return (text) => {
    const found = split(text)
    if (text.trim() === 'all') return words
    return found.every(isAmong(words))
      ? found
      : must(`be all, or any of ${words.join(', ')}, separated by commas`)
  }
}

/** At least one of two. */
export function oneOrBoth<const Word extends string>(
  words: readonly [Word, Word],
): ValueKind<readonly Word[]> {
  return (text) => {
    const found = split(text)
    return found.length > 0 && found.every(isAmong(words)) ? found : must(`be ${words.join(', ')} or both`)
  }
}

/** IP addresses, with a prefix length where a range is meant. */
export const networks: ValueKind<readonly string[]> = (text) => {
  const found = split(text)
  return found.every(isNetwork) ? found : must('be IP addresses or CIDR ranges separated by commas')
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIP(address) === 6 ? 128 : 32
  const isRange = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
  return isIP(address) !== 0 && isRange && rest.length === 0
}

/** What clients call a site: scheme, host and port alone. */
export const origin: ValueKind<string> = (text) => {
  const trimmed = text.replace(/\/$/, '')
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== trimmed)
    return must('be an origin such as https://api.example.com')
  if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname))
    return must('begin with https:// because it is not a loopback address')
  return trimmed
}

/** What the file holds. */
export const file: ValueKind<string> = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return noFile(path, codeOf(error))
  }
}

export function noFile(path: string, code = 'ENOENT'): SettingMistake {
  const place = resolve(path)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new SettingMistake(`names a file that does not exist: ${place}`)
  if (code === 'EISDIR') return new SettingMistake(`names a folder where a file is expected: ${place}`)
  const why = code === 'EACCES' ? 'this user may not' : code
  return new SettingMistake(`names a file that cannot be read (${why}): ${place}`)
}

/**
 * What the file holds, which TLS would take without a word whatever it is: no authority that it was meant to
 * name would be trusted.
 */
export const authorities: ValueKind<string> = (path) => {
  const held = file(path)
  if (held instanceof SettingMistake || holdsCertificates(held)) return held
  return new SettingMistake(`names a file that does not hold certificates in PEM: ${resolve(path)}`)
}

function holdsCertificates(text: string): boolean {
  return readCertificates(text).length > 0
}

/** None where one of them is none. */
function readCertificates(text: string): X509Certificate[] {
  const found = text
    .split(/(?=-----BEGIN )/)
    .filter((part) => /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(part))
  try {
    return found.map((part) => new X509Certificate(part))
  } catch {
    return []
  }
}

/** Authorities, to be asked one by one. */
export const issuers: ValueKind<readonly X509Certificate[]> = (path) => {
  if (path === '') return []
  const held = authorities(path)
  if (held instanceof SettingMistake) return held
  const found = readCertificates(held)
  if (found.every(({ ca }) => ca)) return found
  return new SettingMistake(`names a file with a certificate that is no authority: ${resolve(path)}`)
}

/** One of several that are set together or not at all. */
export function fileOf(together: string): ValueKind<string> {
  return (path) => (path === '' ? new SettingMistake(`is missing: ${together}`) : file(path))
}

/** A file that holds what another setting would. What it holds is secret: a mistake in it is not repeated. */
export function inFile<Value>(kind: ValueKind<Value>): ValueKind<Value> {
  return (path) => {
    const held = file(path)
    if (held instanceof SettingMistake) return held
    const value = kind(held.trim())
    return value instanceof SettingMistake ? new SettingMistake(value.told, false, value.why) : value
  }
}

export function pathOr(off: string): ValueKind<string | undefined> {
  return (text) => (text === off ? undefined : text)
}

export const keys: ValueKind<readonly SecretKey[]> = (text) => {
  const found = split(text).map((each) => parseKey(each))
  return found.every((key) => key !== undefined)
    ? found
    : must('be 32 bytes in base64 or hex; several are separated by commas')
}

export const postgresUrl: ValueKind<string> = (text) =>
  /^postgres(ql)?:\/\//.test(text) ? text : must('begin with postgresql://')

/** Where OpenTelemetry's traces go, of the address of a collector. */
export const collector: ValueKind<string> = (text) => {
  const url = `${text.replace(/(?<!\/)\/+$/, '')}/v1/traces`
  const isFit = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  return isFit ? url : must('be an address such as http://localhost:4318')
}

export type AuditTarget =
  | { readonly kind: 'http'; readonly url: string; readonly host: string }
  | { readonly kind: 'syslog'; readonly host: string; readonly port: number }

/** Where the audit log is pushed to: always over TLS, but to this machine. */
export const auditTarget: ValueKind<AuditTarget> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const wrong = must(
    'be an address such as syslog+tls://logs.example.com:6514 or https://logs.example.com/in',
  )
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '' || url.hash !== '')
    return wrong
  if (url.protocol === 'syslog+tls:') {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const isPlain = /^\/?$/.test(url.pathname) && url.search === ''
    return isPlain ? { kind: 'syslog', host, port: Number(url.port || 6514) } : wrong
  }
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))
  return isSafe ? { kind: 'http', url: url.href, host: url.host } : wrong
}

export const headerValue: ValueKind<string> = (text) =>
  /^[\x21-\x7e][\x20-\x7e]{0,4000}$/.test(text) ? text : must('be the value of a header, on one line')

/** As OpenTelemetry writes them, percent-encoded. */
export const headers: ValueKind<Readonly<Record<string, string>>> = (text) => {
  try {
    const pairs = split(text).map((pair): [string, string] => {
      const [name, value] = pair.split(/=(.*)/s, 2).map((part) => decodeURIComponent(part.trim()))
      if (name === undefined || value === undefined) throw new Error(`${name} has no value.`)
      return [name, value]
    })
    return Object.fromEntries(new Headers(pairs))
  } catch {
    return must('be name=value, several separated by commas')
  }
}

interface MailAddress {
  readonly host: string
  readonly port: number
  /** TLS from the first byte, as smtps asks for. */
  readonly secure: boolean
  readonly requireTls: boolean
  readonly user: string | undefined
  readonly password: string | undefined
}

export const mailUrl: ValueKind<MailAddress> = (text) =>
  parseMailUrl(text) ?? must('be an address such as smtp://user:password@mail.example.com:587')

function parseMailUrl(text: string): MailAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || !/^\/?$/.test(url.pathname))
    return undefined
  if (url.search !== '' || url.hash !== '') return undefined
  const secure = url.protocol === 'smtps:'
  try {
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
      secure,
      requireTls: !isLoopbackHost(url.hostname),
      user: url.username === '' ? undefined : decodeURIComponent(url.username),
      password: url.password === '' ? undefined : decodeURIComponent(url.password),
    }
  } catch {
    return undefined
  }
}

export interface Mailbox {
  readonly name: string
  readonly address: string
}

export const mailbox: ValueKind<Mailbox> = (text) => {
  const [, words, bracketed] = /^([^<>"\r\n]*)<([^<>]*)>$/.exec(text) ?? []
  const address = (bracketed ?? text).trim()
  const isFit = /^[\w.+-]{1,64}@[A-Za-z0-9.-]{1,190}$/.test(address)
  return isFit ? { name: words?.trim() ?? '', address } : must('be Name <address>, or an address alone')
}
