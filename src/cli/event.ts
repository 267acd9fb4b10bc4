import { readFileSync } from 'node:fs'
import type { Errors } from 'typebox/value'
import { exactAmounts } from '../api/frame/exact-amounts.ts'
import { type FieldProblem, findOverflow, Invalid } from '../problem.ts'
import { type NewEvent, printEventId } from '../webhooks/events/event.ts'
import { entityOf, isPublishedKind, type Payload, payloads, printPayload } from '../webhooks/events/kind.ts'
import { openPublisher } from '../webhooks/events/publisher.ts'
import type { Command } from './command.ts'
import { parseEnvironment } from './environment.ts'

export const eventCommands: readonly Command[] = [
  {
    name: 'event publish',
    needs: 'database',
    summary:
      'Publishes events from a JSON file (an event, or a list of them); "-" reads standard input. All of them or none.',
    positionals: ['file'],
    options: [
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      { name: 'idempotency-key', value: 'KEY', meaning: 'the same key again publishes nothing' },
    ],
    async run({ db, act, print }, words) {
      const file = words.positional('file')
      const text = readFileSync(file === '-' ? 0 : file, 'utf8')
      const events = await parseEvents(text, parseEnvironment(words.find('environment')))
      const key = words.find('idempotency-key')
      const { by, at } = act()
      const idempotency = key === undefined ? undefined : { owner: by.name, key }
      const stored = await openPublisher(db).publish(events, at, { idempotency })
      const uids = stored.map((event) => event.uid)
      print.table(
        uids.map((uid) => ({ event_id: printEventId(uid) })),
        'Nothing to publish.',
      )
    },
  },
]

async function parseEvents(text: string, environment: NewEvent['environment']): Promise<NewEvent[]> {
  // Large, and of no use to any other command.
  const { Value } = await import('typebox/value')
  const parsed = JSON.parse(text) as Payload | Payload[]
  const events = [parsed].flat()
  const problems = events.flatMap((payload, index) =>
    findPayloadProblems(payload, `events.${index}`, Value.Errors),
  )
  if (problems.length > 0) throw new Invalid(problems)
  const amounts = exactAmounts(text, events, (place) => `events.${place}.amount`)
  return events.map((payload, index) => {
    const kind = payload.type as Parameters<typeof entityOf>[0]
    return {
      ...{
        environment,
        kind,
        simulated: false,
        branchId: payload.branchId as number,
        action: String(payload.action),
      },
      entity: entityOf(kind, payload),
      body: printPayload(kind, payload, amounts[index]),
    }
  })
}

function findPayloadProblems(payload: Payload, where: string, findFaults: typeof Errors): FieldProblem[] {
  const kind = payload?.type
  if (!isPublishedKind(kind))
    return [{ field: `${where}.type`, problem: `must be one of ${Object.keys(payloads).join(', ')}` }]
  return [...findFaults(payloads[kind], payload)].map((fault) => ({
    field: where + fault.instancePath.replaceAll('/', '.'),
    problem: findOverflow(payload[fault.instancePath.slice(1)]) ?? fault.message,
  }))
}
