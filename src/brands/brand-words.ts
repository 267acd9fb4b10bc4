/**
 * What a brokerage may say of itself: every fault at once, with its field and the remedy. No markup: only
 * words, colours and addresses.
 */

import { type FieldProblem, Invalid } from '../problem.ts'
import { mailbox } from '../settings/kinds.ts'
import { findNameProblem, findTextProblem } from '../text/name.ts'
import { houseAccent, houseBackground } from '../vocabulary/brand.ts'
import { keysOf, recordOf } from '../vocabulary/record-of.ts'
import { type BrandWords, coloursOf } from './brand-row.ts'
import { findContrastProblems } from './palette.ts'

type Field = keyof BrandWords

/** Undefined: nothing is wrong. */
type Check = (text: string) => string | undefined

const must = (test: (text: string) => boolean, problem: string): Check => {
  return (text) => (test(text) ? undefined : problem)
}

const colour = must((text) => /^#[0-9a-f]{6}$/.test(text), 'must be a colour such as #0f5c4d')
const mailAddress = /^[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$/
const webPage = must(isWebPage, 'must be an address such as https://www.example.com/help')

const needed = {
  shortName: (text) => findNameProblem(text, 40),
  legalName: (text) => findNameProblem(text, 200),
  accentLight: colour,
  accentDark: colour,
  backgroundLight: colour,
  backgroundDark: colour,
} satisfies { readonly [Name in Field]?: Check }

const optional = {
  helpUrl: webPage,
  privacyUrl: webPage,
  termsUrl: webPage,
  securityContact: must(
    (text) => isWebPage(text) || mailAddress.test(text),
    'must be an e-mail address, or an address such as https://www.example.com/security',
  ),
  phone: must(
    (text) => /^\+?\d[\d ()./-]{2,38}$/.test(text),
    'must be a phone number such as +1 555 010 0199',
  ),
  mailSender: (text) => findSenderProblem(text),
  mailReplyTo: must((text) => mailAddress.test(text), 'must be an e-mail address such as help@example.com'),
  mailFooter: (text) => findTextProblem(text, 1_000),
} satisfies { readonly [Name in Field]?: Check }

const checks: Readonly<Record<Field, Check>> = { ...needed, ...optional }

export const brandFields: readonly Field[] = keysOf(checks)

/**
 * Where a first draft begins: with the colours that pages have without one, and a name that has to be typed.
 */
export const firstWords: BrandWords = {
  shortName: '',
  legalName: '',
  accentLight: houseAccent.light.colour,
  accentDark: houseAccent.dark.colour,
  backgroundLight: houseBackground.light,
  backgroundDark: houseBackground.dark,
  helpUrl: null,
  privacyUrl: null,
  termsUrl: null,
  securityContact: null,
  phone: null,
  mailSender: null,
  mailReplyTo: null,
  mailFooter: null,
}

export function parseBrandWords(typed: (name: Field) => string | undefined): BrandWords {
  const values = recordOf(brandFields, (name) => tidy(name, typed(name) ?? ''))
  const problems = brandFields.flatMap((name): FieldProblem[] => {
    const problem = findProblemOf(name, values[name])
    return problem === undefined ? [] : [{ field: name, problem }]
  })
  const words = { ...values, ...recordOf(keysOf(optional), (name) => values[name] || null) }
  const areColours = !problems.some(({ field }) => /^(accent|background)/.test(field))
  const all = [...problems, ...(areColours ? findContrastProblems(coloursOf(words)) : [])]
  if (all.length > 0) throw new Invalid(all)
  return words
}

function findProblemOf(name: Field, text: string): string | undefined {
  if (text === '' && Object.hasOwn(optional, name)) return undefined
  return checks[name](text)
}

function tidy(name: Field, text: string): string {
  const trimmed = text.trim()
  if (name === 'mailFooter') return trimmed.replaceAll('\r\n', '\n')
  return /^(accent|background)/.test(name) ? trimmed.toLowerCase() : trimmed
}

/** https alone: a person who follows it from a page of ours must not be met by an impostor on the way. */
export function isWebPage(text: string): boolean {
  if (text.length > 500 || /[\s<>"'\\]/.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return protocol === 'https:' && username === '' && password === ''
}

function findSenderProblem(text: string): string | undefined {
  const parsed = mailbox(text)
  if (!('address' in parsed) || !mailAddress.test(parsed.address))
    return 'must be Name <address>, or an address alone'
  return parsed.name === '' ? undefined : findNameProblem(parsed.name, 100)
}
