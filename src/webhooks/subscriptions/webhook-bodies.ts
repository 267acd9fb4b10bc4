/** What is chosen for a webhook, as every interface takes it. */
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import { actionOf, kinds } from '../events/kind.ts'
import { sendLimits } from '../outbound/send-limit.ts'
import { linePattern, noteCharacters } from './note.ts'

export const KindBody = oneOf(kinds, { title: 'Kind', description: 'What an event is about.' })

const actionsOf = (kind: (typeof kinds)[number]) =>
  Type.Optional(
    Type.Array(actionOf(kind), {
      minItems: 1,
      description: `Of ${kind}; one that is named twice counts once.`,
    }),
  )

export const ActionLists = Type.Object(
  {
    TRANSACTION: actionsOf('TRANSACTION'),
    APPLICATION: actionsOf('APPLICATION'),
    ACH_PROFILE: actionsOf('ACH_PROFILE'),
    AUTHORIZATION: actionsOf('AUTHORIZATION'),
  },
  {
    title: 'ActionLists',
    description: 'The actions to be told of, for some of the kinds; of the other kinds all.',
    additionalProperties: false,
    examples: [{ TRANSACTION: ['COMPLETED'] }],
  },
)

export const RateLimit = Type.Unsafe<number | null>({
  description: 'Attempts a second at most; null for no limit.',
  examples: [10],
  type: ['integer', 'null'],
  minimum: sendLimits.least,
  maximum: sendLimits.most,
})

export const Description = text('For people: what it is for.', 'Ledger, production', {
  maxLength: noteCharacters,
  pattern: linePattern,
})

export const KindList = Type.Array(KindBody, {
  minItems: 1,
  uniqueItems: true,
  description: 'The kinds of events to be told of. Unless given: all but `AUTHORIZATION`.',
  examples: [['TRANSACTION']],
})
