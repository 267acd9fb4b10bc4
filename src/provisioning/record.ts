/**
 * What a source says: that there is a customer, an account or a holding, and how it is; or that it is gone.
 * The fields are described once, for the document of the interface and for lines that are read by the
 * thousand. `record_fault` in the database asks the same of what comes by SQL.
 */
import type { TSchema } from 'typebox'
import type { FieldProblem } from '../problem.ts'
import { cut } from '../text/cut.ts'
import { escapeText } from '../text/printable.ts'
import { holdingRoles } from '../users/holding.ts'
import { isRecord, recordOf } from '../vocabulary/record-of.ts'
import { integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { scopes } from '../vocabulary/scope.ts'

export const kinds = ['customer', 'account', 'holding'] as const
export type RecordKind = (typeof kinds)[number]

interface Field {
  readonly schema: TSchema
  /** What is asked of it, as it follows the field's name. */
  readonly rule: string
  readonly isRequired?: true
  takes(value: unknown): boolean
}

/** `also` is what no pattern can say. */
function matching(
  pattern: string,
  rule: string,
  description: string,
  example: string,
  also: (text: string) => boolean = () => true,
): Field {
  const shape = new RegExp(pattern)
  const schema = text(description, example, { pattern })
  return { schema, rule, takes: (value) => typeof value === 'string' && shape.test(value) && also(value) }
}

function among(words: readonly string[], description: string): Field {
  const rule = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  const known = new Set<unknown>(words)
  return { schema: oneOf(words, { description }), rule, takes: (value) => known.has(value) }
}

/**
 * What a later Unicode may give a meaning (\p{Cn}) is taken: the database has no table of it. A half of a
 * surrogate pair is no character.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u

function named(description: string, example: string): Field {
  const rule = 'must have 1 to 200 characters, none of them invisible'
  const takes = (value: unknown) => {
    if (typeof value !== 'string' || invisible.test(value)) return false
    const trimmed = value.trim()
    // Characters, as the database counts them: those beyond the first 65,536 are two units here.
    return trimmed !== '' && (trimmed.length <= 200 || [...trimmed].length <= 200)
  }
  return { schema: text(description, example, { minLength: 1, maxLength: 200 }), rule, takes }
}

function whole(least: number, most: number, description: string, example: number): Field {
  const schema = integer(description, example, { minimum: least, maximum: most })
  const takes = (value: unknown) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
  return { schema, rule: `must be a whole number from ${least} to ${most}`, takes }
}

/**
 * What PostgreSQL and JavaScript both can read: four digits of a year, no leap seconds, and no offset of
 * sixteen hours.
 */
const instantPattern =
  '^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$'

function moment(description: string): Field {
  return matching(
    instantPattern,
    'must be a date and time such as 2026-01-31T09:30:00Z',
    description,
    '2026-01-31T09:30:00Z',
    isInCalendar,
  )
}

/** JavaScript takes the 31st of June for the first of July. */
function isInCalendar(written: string): boolean {
  const [year, month, day] = written.slice(0, 10).split('-').map(Number)
  if (year === undefined || month === undefined || day === undefined) return false
  return !Number.isNaN(Date.parse(written)) && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

const needed = (field: Field): Field => ({ ...field, isRequired: true })

export const externalIdRule = 'must be 1 to 64 letters, digits or any of . _ @ + : -'
export const externalIdPattern = '^[A-Za-z0-9._@+:-]{1,64}$'
const externalId = (of: string, example: string) =>
  needed(matching(externalIdPattern, externalIdRule, `What the source calls ${of}.`, example))

const common = {
  version: needed(
    whole(
      0,
      Number.MAX_SAFE_INTEGER,
      'Grows with every change at the source. A smaller one than is known is skipped, an equal one has been applied already.',
      7,
    ),
  ),
  changedAt: moment('When the source made the change, for knowing how far behind this is.'),
}

const emailPattern =
  "^$|^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z0-9-]{2,63}$"
const email = matching(
  emailPattern,
  'must be an e-mail address such as ada@example.com, or empty',
  'Where notices go. Left out, it stays as it is; empty, it is removed.',
  'ada@example.com',
  (address) => address.length <= 254 && address.indexOf('@') <= 64,
)

const username = matching(
  '^[A-Za-z0-9._@+-]{1,100}$',
  'must be 1 to 100 letters, digits or any of . _ @ + -, and not look like an id',
  'What they sign in with, where passwords are used. Left out, it stays as it is; a new customer gets one that is made of source and id.',
  'ada',
  (name) => !/^id-[a-z0-9]{12}$/i.test(name),
)

const knownScopes = new Set<unknown>(scopes)

const fields: Readonly<Record<RecordKind, Readonly<Record<string, Field>>>> = {
  customer: {
    name: needed(named('Their full name.', 'Ada Lovelace')),
    username,
    email,
    locale: matching(
      '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$',
      'must be a language such as en or fr-CA',
      'The language they read.',
      'en',
    ),
    status: among(
      ['active', 'disabled'],
      'Whether they may sign in, and applications may act for them; active unless given.',
    ),
  },
  account: {
    number: needed(
      matching(
        '^[A-Z0-9]{4,20}$',
        'must be 4 to 20 capital letters and digits',
        'The number of the account. It cannot change.',
        '6YA10002',
      ),
    ),
    type: needed(among(['cash', 'margin'], 'Whether it may borrow.')),
    classification: named('Whose it is, in a word; individual unless given.', 'individual'),
    status: among(
      ['active', 'closed'],
      'Whether it is open; active unless given. A closed account leaves every authorization.',
    ),
    optionLevel: whole(1, 6, 'What it may do with options; 1 unless given.', 2),
    dayTrader: {
      schema: Type.Boolean({ description: 'Whether it counts as a pattern day trader; false unless given.' }),
      rule: 'must be true or false',
      takes: (value) => typeof value === 'boolean',
    },
    openedAt: moment('When it was opened; when it was first heard of unless given.'),
  },
  holding: {
    role: needed(among(holdingRoles, 'How they hold it.')),
    mayAuthorize: {
      schema: Type.Array(oneOf(scopes), {
        description: 'What they may let applications do in it; what the role may unless given.',
        examples: [['read', 'market']],
      }),
      rule: `must be a list of any of ${scopes.join(', ')}`,
      takes: (value) => Array.isArray(value) && value.every((each) => knownScopes.has(each)),
    },
    status: among(
      ['active', 'suspended'],
      'A suspended holding counts for nothing until it is active again; active unless given.',
    ),
  },
}

const keysOf: Readonly<Record<RecordKind, Readonly<Record<string, Field>>>> = {
  customer: { externalId: externalId('the customer', 'C-1001') },
  account: { externalId: externalId('the account', 'A-2001') },
  holding: { customer: externalId('the customer', 'C-1001'), account: externalId('the account', 'A-2001') },
}

/** As a schema of these fields, for the document of the interface. */
function describe(these: Readonly<Record<string, Field>>, options: object) {
  const properties = Object.entries(these).map(([name, { schema, isRequired }]) => [
    name,
    isRequired ? schema : Type.Optional(schema),
  ])
  return Type.Object(Object.fromEntries(properties), { additionalProperties: false, ...options })
}

const titles = { customer: 'Customer', account: 'ProvisionedAccount', holding: 'Holding' } as const
const examples = {
  customer: { name: 'Ada Lovelace', email: 'ada@example.com', version: 7 },
  account: { number: '6YA20001', type: 'margin', optionLevel: 2, version: 7 },
  holding: { role: 'owner', version: 7 },
} as const

export function describeRecord(kind: RecordKind) {
  const description = `A ${kind} as its source knows it.`
  return describe(
    { ...fields[kind], ...common },
    { title: titles[kind], description, examples: [examples[kind]] },
  )
}
export const describeKeys = (kind: RecordKind) => describe(keysOf[kind], {})
export const describeRemoval = () => ({
  version: common.version.schema,
  changedAt: common.changedAt.schema,
})

export interface SourceRecord {
  readonly kind: RecordKind
  readonly op: 'upsert' | 'remove' | 'absent'
  /** Null of what is absent and of which its source has said nothing yet. */
  readonly version: number | null
  readonly [field: string]: unknown
}

type FieldDescriptions = Readonly<Record<string, Field>>

const words = { op: among(['upsert', 'remove'], ''), kind: among(kinds, '') }
const allFields = (kind: RecordKind, op: unknown): FieldDescriptions =>
  op === 'remove'
    ? { ...words, ...keysOf[kind], ...common }
    : { ...words, ...keysOf[kind], ...common, ...fields[kind] }

interface ExpectedFields {
  readonly all: ReadonlyMap<string, Field>
  readonly required: readonly (readonly [name: string, field: Field])[]
}

function expectFields(kind: RecordKind, op: 'upsert' | 'remove'): ExpectedFields {
  const named = Object.entries(allFields(kind, op))
  return { all: new Map(named), required: named.filter(([, field]) => field.isRequired) }
}

const upserts = recordOf(kinds, (kind) => expectFields(kind, 'upsert'))
const removals = recordOf(kinds, (kind) => expectFields(kind, 'remove'))

/** The first fault of what was sent as a record; undefined when it is one. */
export function findFault(record: unknown): FieldProblem | undefined {
  if (!isRecord(record)) return { field: 'line', problem: 'must be a JSON object' }
  const kind = kinds.find((each) => each === record.kind)
  if (!kind) return { field: 'kind', problem: words.kind.rule }
  if (record.op !== undefined && !words.op.takes(record.op)) return { field: 'op', problem: words.op.rule }
  const expected = (record.op === 'remove' ? removals : upserts)[kind]
  for (const name in record) {
    const field = expected.all.get(name)
    if (!field)
      return {
        field: escapeText(cut(name, 100)),
        problem: `is no field of a ${record.op === 'remove' ? 'removal' : record.kind}`,
      }
    if (!field.takes(record[name])) return { field: name, problem: field.rule }
  }
  for (const [name, { rule }] of expected.required)
    if (record[name] === undefined) return { field: name, problem: rule }
  return undefined
}
