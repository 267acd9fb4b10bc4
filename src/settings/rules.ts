/** What settings owe each other, whatever each says by itself. */
import { existsSync } from 'node:fs'
import { isLoopbackUrl } from '../network/loopback.ts'
import { noFile } from './kinds.ts'
import type { RawSettings } from './setting.ts'

/** A mistake begins with the name of the setting that is to be changed. */
type Rule = (raw: RawSettings) => string | undefined

export const rules: readonly Rule[] = [
  ({ has, text }) =>
    !has('SANDBOX_PORT') && text('PORT') === '65535'
      ? 'SANDBOX_PORT must be set, because PORT is the last one there is'
      : undefined,
  differs('SANDBOX_PORT', ['PORT']),
  ({ has, text }) =>
    !has('INTERNAL_PORT') && ['65534', '65535'].includes(text('PORT'))
      ? 'INTERNAL_PORT must be set, because there is no PORT + 2'
      : undefined,
  differs('INTERNAL_PORT', ['PORT', 'SANDBOX_PORT']),
  ({ has, text }) =>
    !has('SANDBOX_MTLS_PORT') && text('MTLS_PORT') === '65535'
      ? 'SANDBOX_MTLS_PORT must be set, because MTLS_PORT is the last one there is'
      : undefined,
  differs('MTLS_PORT', ['PORT', 'SANDBOX_PORT', 'INTERNAL_PORT']),
  differs('SANDBOX_MTLS_PORT', ['PORT', 'SANDBOX_PORT', 'INTERNAL_PORT', 'MTLS_PORT']),
  endsItself('MTLS_PORT'),
  endsItself('SANDBOX_MTLS_PORT'),
  isReached('MTLS_URL', 'MTLS_PORT'),
  isReached('SANDBOX_MTLS_URL', 'SANDBOX_MTLS_PORT'),
  ends('BASE_URL'),
  ends('SANDBOX_URL'),
  ({ has, text }) =>
    text('MTLS_PROXY_HEADER') === 'true' && !has('TRUST_PROXY')
      ? 'MTLS_PROXY_HEADER needs TRUST_PROXY, which names the proxies that may say it'
      : undefined,
  keepOne('DATABASE_URL', 'DATABASE_URL_FILE'),
  keepOne('SECRET_KEY', 'SECRET_KEY_FILE'),
  keepOne('SECRET_KEY', 'SECRET_KEY_COMMAND'),
  keepOne('SECRET_KEY_FILE', 'SECRET_KEY_COMMAND'),
  keepOne('SMTP_URL', 'SMTP_URL_FILE'),
  keepOne('AUDIT_PUSH_URL', 'AUDIT_PUSH_URL_FILE'),
  together('AUDIT_PUSH_CERT_FILE', 'AUDIT_PUSH_KEY_FILE'),
  together('AUDIT_PUSH_KEY_FILE', 'AUDIT_PUSH_CERT_FILE'),
  ({ has }) =>
    ['DATABASE_URL', 'DATABASE_URL_FILE'].some(has) &&
    !['SECRET_KEY', 'SECRET_KEY_FILE', 'SECRET_KEY_COMMAND'].some(has)
      ? 'SECRET_KEY, SECRET_KEY_FILE or SECRET_KEY_COMMAND must be set with DATABASE_URL, the same on every node'
      : undefined,
  ({ has, text }) =>
    has('SECRET_KEY_FILE') && !has('SECRET_KEY') && !existsSync(text('SECRET_KEY_FILE'))
      ? `SECRET_KEY_FILE ${noFile(text('SECRET_KEY_FILE')).told}. Put it back; a new installation makes one with "countersign keys generate"`
      : undefined,
  ({ has }) =>
    (has('SMTP_URL') || has('SMTP_URL_FILE')) && !has('MAIL_FROM')
      ? 'MAIL_FROM must be set with SMTP_URL'
      : undefined,
]

function differs(name: string, others: readonly string[]): Rule {
  return ({ text }) =>
    Number(text(name)) > 0 && others.some((other) => text(other) === text(name))
      ? `${name} must differ from ${others.join(', ').replace(/, (\w+)$/, ' and $1')}`
      : undefined
}

/** Whoever ends TLS sees the certificate. */
function endsItself(name: string): Rule {
  return ({ has }) =>
    has(name) && !(has('TLS_CERT_FILE') && has('TLS_KEY_FILE'))
      ? `${name} needs TLS_CERT_FILE and TLS_KEY_FILE: it ends TLS itself`
      : undefined
}

function isReached(name: string, port: string): Rule {
  return ({ has, text }) => {
    if (!has(name)) return undefined
    if (text(name).startsWith('http:')) return `${name} must begin with https://`
    return text(port) === '' && text('MTLS_PROXY_HEADER') !== 'true'
      ? `${name} needs ${port}, or MTLS_PROXY_HEADER where a proxy asks for certificates`
      : undefined
  }
}

function keepOne(one: string, other: string): Rule {
  return ({ has }) => (has(one) && has(other) ? `${one} and ${other} are both set: keep one` : undefined)
}

function together(one: string, other: string): Rule {
  return ({ has }) => (has(one) && !has(other) ? `${other} must be set with ${one}` : undefined)
}

/** An address that begins with https is no better than the proxy that ends TLS for it. */
function ends(name: string): Rule {
  return ({ has, text }) => {
    const isHttps = /^https:/.test(text(name)) && !isLoopbackUrl(text(name))
    return isHttps && !['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRUST_PROXY'].some(has)
      ? `${name} is https: set TLS_CERT_FILE and TLS_KEY_FILE, or name the proxy that ends TLS in TRUST_PROXY`
      : undefined
  }
}
