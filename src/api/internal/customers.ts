/**
 * GET /internal/v1/customers: what is known of a source, for a system that proves that both sides are equal.
 */
import {
  customersAPage,
  listChecksums,
  listCustomers,
  optionalFields,
} from '../../provisioning/reconciliation.ts'
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Provisioner } from '../gates/service-gates.ts'
import { originOf, type SourceQuery, sourceParameter } from './provisioning.ts'

const version = (of: string) =>
  integer(`The version that is known of ${of}; 0 for one that was made by hand.`, 7)

const KnownHolding = Type.Object(
  {
    account: text('What the source calls the account.', 'A-2001'),
    number: text('Its number.', '6YA20001'),
    accountVersion: version('the account'),
    accountStatus: oneOf(['active', 'closed'], { description: 'Whether it is open.' }),
    type: oneOf(['cash', 'margin'], { description: 'Whether it may borrow.' }),
    classification: text('Whose it is, in a word.', 'individual'),
    optionLevel: integer('What it may do with options.', 2),
    dayTrader: Type.Boolean({ description: 'Whether it counts as a pattern day trader.' }),
    openedAt: text(
      'When it was opened, or first heard of, as it stands in the line.',
      '2026-01-31T09:30:00.000000Z',
    ),
    role: text('How they hold it.', 'owner'),
    mayAuthorize: Type.Array(text('A scope.', 'read'), {
      description: 'What they may let applications do in it.',
    }),
    status: oneOf(['active', 'suspended'], { description: 'Whether that counts.' }),
    version: version('the holding'),
  },
  { title: 'KnownHolding', description: 'An account that the customer holds.' },
)

const KnownCustomer = Type.Object(
  {
    id: text('Our id of the user.', 'id-4f7k2m9q1x3z'),
    externalId: text('What the source calls the customer.', 'C-1001'),
    version: version('the customer'),
    name: text('Their name.', 'Ada Lovelace'),
    username: text('What they sign in with.', 'core:c-1001'),
    email: Type.Optional(text('Where notices go; left out where there is none.', 'ada@example.com')),
    locale: Type.Optional(text('The language they read; left out where it is not known.', 'en')),
    status: oneOf(['active', 'disabled'], {
      description: 'Whether they may sign in; operators lock people too.',
    }),
    holdings: Type.Array(KnownHolding, { description: 'By account.' }),
  },
  { title: 'KnownCustomer', description: 'A customer as they are known here.' },
)

const sum = text(
  'SHA-256, in hexadecimal digits.',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
)

const KnownCustomers = Type.Object(
  {
    customers: Type.Optional(
      Type.Array(KnownCustomer, { description: 'In the order of the bytes of `externalId`.' }),
    ),
    checksum: Type.Optional(sum),
    checksums: Type.Optional(
      Type.Array(
        Type.Object(
          {
            last: text('The last of them.', 'C-2000'),
            customers: integer('How many they are.', customersAPage),
            checksum: sum,
          },
          { title: 'CustomerChecksum', description: 'Of a thousand customers.' },
        ),
        { description: 'One after the other.' },
      ),
    ),
    next: Type.Optional(text('There are more: ask with `after` for those.', 'C-2000')),
  },
  { title: 'KnownCustomers', description: 'What is known of a source.' },
)

interface CustomerQuery extends SourceQuery {
  readonly after?: string
  readonly limit?: number
  readonly only?: 'checksums'
  readonly without?: string
}

export const fetchCustomers: Endpoint<Provisioner, { Querystring: CustomerQuery }> = {
  schema: {
    operationId: 'listCustomers',
    summary: 'List customers',
    description:
      'For systems of the brokerage. Customers of a source that are not removed, with what they hold, and a checksum: the SHA-256 of a line for each, with everything that a source says of them and a line feed (docs/provisioning.md has its fields). With `only=checksums`, the checksums of up to a hundred thousand, one a thousand.',
    tags: ['Internal'],
    security: [{ serviceBasic: [] }],
    querystring: Type.Object({
      ...sourceParameter,
      after: Type.Optional(
        Type.String({
          description: 'Those after this `externalId`; from the first unless given.',
          maxLength: 64,
        }),
      ),
      limit: Type.Optional(
        integer(`How many at most; ${customersAPage} unless given.`, 100, {
          minimum: 1,
          maximum: customersAPage,
        }),
      ),
      only: Type.Optional(
        Type.Unsafe<'checksums'>({ type: 'string', enum: ['checksums'], description: 'Checksums alone.' }),
      ),
      without: Type.Optional(
        text(
          'Fields that the source never sends, with commas between: they are left empty in the lines.',
          'email,locale',
          {
            pattern: `^(${optionalFields.join('|')})(,(${optionalFields.join('|')})){0,${optionalFields.length - 1}}$`,
          },
        ),
      ),
    }),
    response: { 200: KnownCustomers },
    mayForbid: true,
  },
  handle(context, caller, request) {
    const { after = '', limit = customersAPage, only, without } = request.query
    const origin = originOf(context, caller, request.query)
    const left = without?.split(',') ?? []
    const asked = { after, without: optionalFields.filter((field) => left.includes(field)) }
    return only ? listChecksums(context.db, origin, asked) : listCustomers(context.db, origin, asked, limit)
  },
}
