/** An import, as it is answered. */
import type { Import } from '../../provisioning/import.ts'
import { allowedModes, importStates, outcomes } from '../../provisioning/outcomes.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'

const count = (description: string, example = 0) => integer(description, example, { minimum: 0 })

const ImportFault = Type.Object(
  {
    line: count('Which line.', 17),
    field: text('Which field of it.', 'version'),
    problem: text(
      'What is wrong with it, and what it should be.',
      'must be a whole number from 0 to 9007199254740991',
    ),
  },
  { title: 'ImportFault', description: 'What is wrong with a line. The others are applied.' },
)

export const ImportResource = Type.Object(
  {
    id: integer('The number of the import.', 1),
    source: text('Of which source.', 'core'),
    mode: oneOf(allowedModes, { description: 'Whether what is not in it is removed.' }),
    dryRun: Type.Boolean({ description: 'Whether nothing is applied.' }),
    state: oneOf(importStates, {
      description:
        '`running`: more lines may come, after `lines`. `needs approval`: it would remove more than is allowed without an operator’s approval.',
    }),
    lines: count('The last line that is committed.', 3),
    bytes: count('How many bytes that is.', 210),
    ...Object.fromEntries(outcomes.map((each) => [each, count(`How many records were ${each}.`)])),
    missing: Type.Optional(count('What a snapshot does not have, and what is removed therefore.')),
    known: Type.Optional(count('Of how many.')),
    startedAt: instant('When it began'),
    finishedAt: Type.Optional(instant('When it ended')),
    requestId: Type.Optional(text('The request that began it.', 'nightly-2026-01-31')),
    faults: Type.Optional(Type.Array(ImportFault, { description: 'The first thousand.' })),
  },
  { title: 'Import', description: 'A file of records, as far as it has been read.' },
)

export function printImport(read: Import) {
  const { id, source, mode, dryRun, state, bytes, missing, known, startedAt, finishedAt, requestId } = read
  return {
    ...{ id, source, mode, dryRun, state, lines: read.lines, bytes },
    ...Object.fromEntries(outcomes.map((each) => [each, read[each]])),
    ...(missing !== null && { missing }),
    ...(known !== null && { known }),
    startedAt: startedAt.getTime(),
    ...(finishedAt && { finishedAt: finishedAt.getTime() }),
    ...(requestId !== null && { requestId }),
  }
}
