/** What a proxy's route asks of a token. It comes from the proxy's configuration, and never from a client. */
import { BoundedMap } from '../concurrency/bounded-map.ts'
import { type Form, parseForm } from '../http/form.ts'
import { type Acr, acrs, printAcr } from '../vocabulary/acr.ts'
import { parseScopes, type Scope } from '../vocabulary/scope.ts'
import { Misconfigured } from './head.ts'

export interface Needs {
  /** All of them. */
  readonly scopes: readonly Scope[]
  /** One that the request is about. */
  readonly account: string | undefined
  /** How long ago its user may have signed in. */
  readonly maxAgeSeconds: number | undefined
  /** Any of them, or a stronger one (RFC 9470). */
  readonly acrs: readonly Acr[]
  readonly wantsAssertion: boolean
}

const names = ['scope', 'account', 'max_age', 'acr_values', 'assertion']

/** A route says the same each time, unless it says which account it is about. */
const known = new BoundedMap<string, Needs>(256 * 1024)

/** `text` is spelled as a query. */
export function readNeeds(text: string): Needs {
  const before = known.get(text)
  if (before) return before
  const needs = parseNeeds(text)
  known.set(text, needs)
  return needs
}

function parseNeeds(text: string): Needs {
  const form = parseForm(text)
  const unknown = Object.keys(form).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new Misconfigured(
      'parameter_unknown',
      `The route asks for something unknown. It may say ${names.join(', ')}.`,
    )
  const scope = readOnly(form, 'scope')
  if (scope === undefined)
    throw new Misconfigured(
      'scope_missing',
      'The route does not say which scope it needs: scope=read, for example.',
    )
  const assertion = readOnly(form, 'assertion')
  if (assertion !== undefined && assertion !== '1') throw malformed('assertion', 'is 1, or left out')
  return {
    scopes: readScopes(scope),
    account: readAccount(readOnly(form, 'account')),
    maxAgeSeconds: readSeconds(readOnly(form, 'max_age')),
    acrs: readAcrs(readOnly(form, 'acr_values')),
    wantsAssertion: assertion === '1',
  }
}

function readOnly(form: Form, name: string): string | undefined {
  const value = form[name]
  if (Array.isArray(value))
    throw new Misconfigured(`${name}_doubled`, `The route says ${name} more than once.`)
  return value
}

function malformed(name: string, rule: string): Misconfigured {
  return new Misconfigured(`${name}_malformed`, `The route's ${name} cannot be used: it ${rule}.`)
}

function readScopes(text: string): readonly Scope[] {
  const parsed = parseScopes(text)
  if (parsed.kind === 'scopes') return parsed.scopes
  throw malformed('scope', 'names scopes, separated by spaces')
}

function readAccount(text: string | undefined): string | undefined {
  if (text === '') throw malformed('account', 'names an account')
  return text
}

function readSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw malformed('max_age', 'is a number of seconds')
  return Number(text)
}

function readAcrs(text: string | undefined): readonly Acr[] {
  if (text === undefined) return []
  return text.split(' ').map((word) => {
    const acr = acrs.find((each) => printAcr(each) === word)
    if (!acr) throw malformed('acr_values', 'has values that introspection tells, separated by spaces')
    return acr
  })
}
