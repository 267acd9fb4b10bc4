/** What the brokerage's staff is told: of what takes two people, and of a way in that is for emergencies. */
import { type Sentence, tell } from '../audit/sentence.ts'
import { cut } from '../text/cut.ts'
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import { deviceWords } from '../vocabulary/device-words.ts'
import { proposalWords } from '../vocabulary/proposal-words.ts'
import { type Alert, printAlert } from './alert.ts'
import { oneLine } from './message.ts'
import { type NoticeWriter, printMoment } from './notice-text.ts'

export const staffTellers: {
  readonly [Kind in
    | 'proposal'
    | 'break-glass'
    | 'power'
    | 'staff-password'
    | 'operations']: NoticeWriter<Kind>
} = {
  proposal: ({ kind, proposalId, expiresAt }, at, addresses) => ({
    environment: 'live',
    subject: 'A proposal needs a second person',
    happened: 'A colleague proposed something that takes two people. You may decide about it.',
    facts: [
      ['Proposal', `${proposalId}: ${proposalWords[kind]} …`],
      ['When', printMoment(at)],
      ['Expires', printMoment(new Date(expiresAt))],
    ],
    advice: `Read it and decide at ${addresses.live}/console/proposals/${proposalId} after signing in.`,
  }),
  operations: (alert, at, addresses) => {
    const { text, link } = printAlert(alert as Alert, addresses, 'staff')
    return {
      environment: 'live',
      subject: operationSubjects[alert.kind],
      happened: text,
      facts: [['When', printMoment(at)]],
      advice: `Look at ${link} after signing in.`,
    }
  },
  'break-glass': ({ kind, by, subject }, at, addresses) => ({
    environment: 'live',
    subject: 'Four eyes were bypassed on the command line',
    happened:
      'Something that takes two people was done by one, with a command on the machine of the gateway.',
    facts: [
      ['What', `${proposalWords[kind]} ${oneLine(subject)}`],
      ['By', oneLine(by)],
      ['When', printMoment(at)],
    ],
    advice: `If you know of it, there is nothing to do. If not, somebody has access to the machine: ${addresses.live}/console/audit has the entry.`,
  }),
  power: (entry, at, addresses) => ({
    environment: 'live',
    subject: 'A change to who can do what',
    happened: 'Something was done that gives, takes or opens power at your gateway.',
    facts: [
      ['What', printSentence(tell(entry), entry.names)],
      ...(typeof entry.details.reason === 'string'
        ? [['Reason', `“${oneLine(entry.details.reason)}”`] as const]
        : []),
      ['When', printMoment(at)],
    ],
    advice: `If you know of it, there is nothing to do. If not, ask whoever did it: ${addresses.live}/console/audit has the entry.`,
  }),
  'staff-password': ({ name, environment, from, userAgent }, at, addresses) => ({
    environment,
    subject: `“${oneLine(name)}” signed in with a password`,
    happened: 'Somebody of the staff signed in with a password instead of at your identity provider.',
    facts: [
      ['Who', `“${oneLine(name)}”`],
      ['When', printMoment(at)],
      ...(from === null ? [] : [['From', oneLine(from)] as const]),
      ...(userAgent === null ? [] : [['Device', deviceWords(userAgent)] as const]),
    ],
    advice: `That is meant for when the provider is away. If it was not: ask them, and lock them out at ${addresses.live}/console/users if it was somebody else.`,
  }),
}

const operationSubjects: Readonly<Record<AlertKind, string>> = {
  failing: 'A partner’s webhook is failing',
  recovered: 'A partner’s webhook works again',
  disabled: 'A partner’s webhook is disabled',
  expiring: 'Something ends soon',
  lag: 'Deliveries are late',
  provider: 'An identity provider cannot be used',
  audit: 'The audit log is not heard',
}

/** Whole, but for a part of others' words that is too long. */
function printSentence(sentence: Sentence, names: Readonly<Record<string, string>>): string {
  const parts = sentence.map((part) => {
    if (typeof part === 'string') return cut(part, 500)
    const name = Object.hasOwn(names, part.id) ? names[part.id] : undefined
    return name === undefined ? oneLine(part.id) : `“${oneLine(name)}”`
  })
  return oneLine(parts.join(''), 3_000)
}
