/**
 * What is a record and what is none: the lines of a file, the interface and SQL say the same of every value
 * that somebody could send.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listFaults } from '../../src/provisioning/import.ts'
import { findFault } from '../../src/provisioning/record.ts'
import { ask } from '../support/ask.ts'
import { openHouse } from '../support/gateway.ts'
import { importLines } from '../support/imports.ts'
import { nameSource } from '../support/provisioning.ts'

const house = await openHouse({ ROLES: 'api' })
const { db } = house.gateway.context

const records = {
  customer: {
    ...{
      kind: 'customer' as const,
      externalId: 'C-x',
      version: 1,
      changedAt: '2026-01-31T09:30:00Z',
      name: 'Ada',
    },
    ...{ username: 'ada', email: 'a@example.com', locale: 'en', status: 'active' },
  },
  account: {
    ...{
      kind: 'account' as const,
      externalId: 'A-x',
      version: 1,
      number: 'ABCD1',
      type: 'cash',
      classification: 'trust',
    },
    ...{ status: 'active', optionLevel: 2, dayTrader: true, openedAt: '2026-01-31T09:30:00+01:00' },
  },
  holding: {
    ...{
      kind: 'holding' as const,
      customer: 'C-x',
      account: 'A-x',
      version: 1,
      role: 'owner',
      mayAuthorize: ['read'],
    },
    status: 'active',
  },
  removal: { kind: 'holding' as const, op: 'remove', customer: 'C-x', account: 'A-x', version: 1 },
}

/** As JSON has them: what a program reads from it is not always what was written. */
const instants = [
  ...[
    '2026-06-31T00:00:00Z',
    '2026-01-01',
    '2026-01-01T25:00:00Z',
    '2026-01-01T10:00:00.123456Z',
    '2026-13-01T00:00:00Z',
  ],
  ...[
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2024-02-29T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
  ],
  ...[
    '2026-01-01T00:00:00+23:00',
    '2026-01-01T00:00:00-23:59',
    '2026-01-01T00:00:00+16:00',
    '2026-01-01T00:00:00+15:59',
  ],
  ...[
    '2026-01-01T00:00:00-15:59',
    '2026-01-01T00:00:00+15:60',
    '2026-01-01T00:00:00-00:00',
    '2026-01-01T00:00:00+00:99',
  ],
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '0999-12-31T23:59:59Z',
    '1000-01-01T00:00:00+15:00',
    '9999-12-31T23:59:59-15:00',
  ],
  ...[
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2016-12-31T23:59:60Z',
    '2026-01-01T10:00:00.1234567Z',
  ],
  ...[
    '2026-01-01T10:00:00.Z',
    '2026-01-01t10:00:00z',
    '2026-01-01 10:00:00Z',
    '+002026-01-01T00:00:00Z',
    '-2026-01-01T00:00:00Z',
  ],
  ...[
    '٢٠٢٦-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    'infinity',
    '-infinity',
    'now',
    'epoch',
    '2026-01-01T00:00:00+1:00',
  ],
  ...[
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00 +01:00',
    '20260101T000000Z',
    '2026-W01-1T00:00:00Z',
    '2026-001T00:00:00Z',
  ],
].map((each) => JSON.stringify(each))

const numbers = [
  ...[
    '0',
    '-0',
    '-1',
    '1.5',
    '7',
    '7.0',
    '2.000',
    '1e3',
    '1E0',
    '100e-2',
    '1e-400',
    '-1e-400',
    '1e-310',
    '5e-324',
    '2e-324',
  ],
  ...[
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '9007199254740991.4',
    '9007199254740991.6',
    '0.99999999999999999999',
  ],
  ...[
    '1.0000000000000000001',
    '1e15',
    '1e16',
    '1e21',
    '1e308',
    '1e309',
    '1e400',
    '-1e400',
    '1e130000',
    '1e200000',
    '18446744073709551616',
  ],
  ...['3e0', '6.0', '6.00000000000000000001', '6.0000000000001', '"7"', '" 7"', 'true', '0.1e1'],
]

const texts = [
  ...[
    '',
    ' ',
    'x',
    '7',
    'Ünïcode',
    'x'.repeat(64),
    'x'.repeat(65),
    'x'.repeat(100),
    'x'.repeat(101),
    'x'.repeat(200),
    'x'.repeat(201),
  ],
  // Two units of JavaScript, and one character of PostgreSQL.
  ...[
    '😀',
    '😀'.repeat(100),
    '😀'.repeat(101),
    '😀'.repeat(200),
    '😀'.repeat(201),
    `${' '.repeat(300)}Ada${'\u3000'.repeat(300)}`,
  ],
  // Spaces that are none of ASCII's.
  ...[
    '\u00a0',
    '\u3000',
    '\u2003\u205f',
    '\u00a0Ada\u00a0',
    `${'x'.repeat(200)}\u00a0`,
    '\u1680',
    '\u202f',
    '\u2800',
    '\u3164',
  ],
  ...[
    'Ada\u0007',
    'A\u202eda',
    'Ada\n',
    '\nAda',
    'Ada\r\n',
    'A\tda',
    'Ada\u0085',
    'Ada\u2028',
    '\ufeffAda',
    'A\u00adda',
    'A\u200bda',
  ],
  ...[
    'A\u{e0041}da',
    'A\u{110bd}da',
    'A\ue000da',
    'A\u{f0000}da',
    'A\u{10ffff}da',
    'A\ufffeda',
    'A\ufdd0da',
    'A\u0378da',
    'A\u{e01ef}da',
  ],
  ...[
    'Ada\u0000',
    '\u0000',
    'e\u0301',
    '\u0301',
    '\\N',
    '\\.',
    'A\\tda',
    "Robert'); DROP TABLE users;--",
    '{}',
    '{read}',
    'NULL',
    'null',
  ],
  ...[
    'a@b',
    'a b@example.com',
    `${'a'.repeat(64)}@example.com`,
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(63)}.com`,
    `a@${'b'.repeat(64)}.com`,
  ],
  ...[
    `a@${'b.'.repeat(124)}com`,
    `a@${'b.'.repeat(125)}com`,
    'a@example.com\n',
    'a@example.com\u0000',
    'ä@example.com',
    'a@exämple.com',
    'a@b.c',
  ],
  ...[
    'a@-b.com',
    'a@b-.com',
    '.a@b.com',
    'a.@b.com',
    'a..b@b.com',
    'a@b..com',
    '@b.com',
    'a@b.com.',
    'a@b.xn--p1ai',
    'A@B.COM',
    'a@b.1٢',
  ],
  ...[
    'id-abcdefghijkl',
    'ID-ABCDEFGHIJKL',
    'id-abcdefghijkI',
    'İd',
    'ada ',
    'ADA',
    'ａｄａ',
    'K',
    'ſ',
    'ada\n',
    'a/b',
    'a:b',
  ],
  ...[
    'en-GB',
    'en_GB',
    'EN',
    'e',
    'engl',
    'en-',
    'en-a',
    'en-abcdefghi',
    'en-ab-ab-ab',
    'en-ab-ab-ab-ab',
    'eñ',
    'en\n',
  ],
  ...[
    'active',
    'Active',
    'active ',
    'closed',
    'disabled',
    'suspended',
    'removed',
    'absent',
    'upsert',
    'remove',
    'viewer',
    'owner\n',
    'margin',
    'cash',
  ],
  ...[
    'abcd',
    'ABC',
    'ABCD',
    'ABCD\n',
    'A'.repeat(20),
    'A'.repeat(21),
    'ABCD１',
    'ÀBCD',
    'customer',
    'account',
    'holding',
    'trader',
    '__proto__',
  ],
].map((each) => JSON.stringify(each))

const others = [
  ...[
    'null',
    '[]',
    '{}',
    '[null]',
    '[[]]',
    '[["read"]]',
    '["read","trade"]',
    '["read","read"]',
    '["fly"]',
    '["read",1]',
    '[{}]',
    '{"read":1}',
  ],
  ...[
    '"\\ud800"',
    '"\\udc00Ada"',
    '"Ada\\ud83d"',
    '"\\ud83d\\ude00"',
    '"\\u0000"',
    '"\\ude00\\ud83d"',
    '["\\u0000"]',
    'false',
    '[1]',
    '"read"',
  ],
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
]

const fieldNames = [
  'another',
  'a\\u0000',
  '\\u0000',
  '\\ud800',
  '__proto__',
  'constructor',
  'Version',
  ' name',
  '',
  'x'.repeat(5_000),
  '\\u202e',
]

/**
 * Lines of JSON, each but for one place a record: every value in every field, every field left out, and
 * fields that nobody knows.
 */
function makeLines(): string[] {
  const values = [...instants, ...numbers, ...texts, ...others]
  const print = (fields: readonly (readonly [string, string])[]) =>
    `{${fields.map(([name, value]) => `${name}:${value}`).join(',')}}`
  return Object.values(records).flatMap((record) => {
    const fields = Object.entries(record).map(
      ([name, value]) => [JSON.stringify(name), JSON.stringify(value)] as const,
    )
    return [
      print(fields),
      ...fieldNames.map((name) => print([...fields, [`"${name}"`, '1']])),
      ...fields.flatMap(([name]) => {
        const rest = fields.filter(([each]) => each !== name)
        return [
          print(rest),
          print([...fields, ...fields]),
          ...values.map((value) => print([...rest, [name, value]])),
        ]
      }),
    ]
  })
}

const lines = makeLines()
/** A value that no jsonb can be is refused before anybody looks at it. */
const isTaken = 'SELECT record_fault($1::text::jsonb) AS fault'

async function findFaultInSql(line: string): Promise<string | undefined> {
  try {
    const [row] = await ask<{ fault: string | null }>(db, isTaken, [line])
    return row!.fault ?? undefined
  } catch (error) {
    return String((error as Error).message)
  }
}

test('what is a record for a file and for the interface is one for SQL, and nothing else is', async () => {
  const differing: string[] = []
  const judge = async (line: string) => {
    const [inSql, here] = [await findFaultInSql(line), findFault(JSON.parse(line))]
    if ((inSql === undefined) !== (here === undefined))
      differing.push(`${line.slice(0, 400)}: SQL says ${inSql}, the interface ${JSON.stringify(here)}`)
  }
  for (let at = 0; at < lines.length; at += 50) await Promise.all(lines.slice(at, at + 50).map(judge))
  assert.deepEqual(differing, [])
})

test('every character of Unicode may stand in a name on both sides, or on neither', async () => {
  const inSql = await ask<{ code: number }>(
    db,
    'SELECT code FROM generate_series(1, 1114111) AS code WHERE code NOT BETWEEN 55296 AND 57343 AND NOT is_printable(chr(code))',
  )
  const refused = new Set(inSql.map(({ code }) => code))
  const differing: string[] = []
  for (let code = 1; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const name = `A${String.fromCodePoint(code)}a`
    const fault = findFault({ kind: 'customer', externalId: 'C-x', version: 1, name })
    if ((fault !== undefined) !== refused.has(code)) differing.push(code.toString(16))
  }
  assert.deepEqual(differing, [], 'the list of migrations/0007-provisioning.sql is that of record.ts')
})

test('whatever is taken as a record, the database takes: a file of all of them is read to its end', async () => {
  const source = await nameSource(house)
  const good = new Set(
    lines.flatMap((line, place) => (findFault(JSON.parse(line)) === undefined ? [place + 1] : [])),
  )
  const told = await importLines(house, source, lines)
  assert.deepEqual([told.state, told.lines], ['finished', lines.length])
  const faults = await listFaults(db, told.id)
  assert.deepEqual(
    faults.filter(
      ({ line, problem }) => good.has(line) && !/taken|number of another|cannot change/.test(problem),
    ),
    [],
    'no line that is a record was refused by PostgreSQL',
  )
  assert.ok(told.failed >= lines.length - good.size)
})

test('what SQL takes it can write: numbers in any of the ways that JSON has for them', async () => {
  const source = await nameSource(house)
  const provision = "SELECT provision('live', $1, $2::text::jsonb) AS merged"
  const places = [
    ...numbers.flatMap((value) => ['version', 'optionLevel'].map((name) => ({ name, value }))),
    ...instants.flatMap((value) => ['openedAt', 'changedAt'].map((name) => ({ name, value }))),
  ]
  let made = 0
  for (const record of Object.values(records))
    for (const { name, value } of places) {
      const n = ++made
      const own = {
        customer: { externalId: `C-${n}`, username: `u-${n}` },
        account: { externalId: `A-${n}`, number: `HOST${n}` },
        holding: { customer: `C-${n}` },
      }[record.kind]
      const { [name]: _, ...rest } = { ...record, ...own } as Record<string, unknown>
      const line = `${JSON.stringify(rest).slice(0, -1)},"${name}":${value}}`
      if (findFault(JSON.parse(line)) === undefined) await ask(db, provision, [source, line])
    }
})
