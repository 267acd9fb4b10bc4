/**
 * `countersign apply`, `diff` and `export`: the house as documents that stand in a repository. They speak to
 * the administration interface of a gateway, and never to the database.
 */
import { createInterface } from 'node:readline/promises'
import { type Administration, openAdministration } from '../documents/administration.ts'
import { applyPlan, isToDo } from '../documents/apply-plan.ts'
import {
  documentKinds,
  FaultyDocuments,
  type HouseDocument,
  keyOf,
  printSpot,
} from '../documents/document.ts'
import { makePlan, ownersOf, type PlannedStep, type PlanOptions, printRefusal } from '../documents/plan.ts'
import { type PrintedDocument, printDocument, toDocument } from '../documents/print-documents.ts'
import { readDocuments } from '../documents/read-documents.ts'
import { findBurntKeys } from '../partners/jwks.ts'
import { readAdministrationSettings } from '../settings/config.ts'
import {
  type Command,
  type CommandWords,
  Drift,
  type Option,
  PartialSuccess,
  type Printer,
  UsageError,
} from './command.ts'
import { describeStep, sayPlan, summarize } from './plan-words.ts'
import { secretOption, takeSecret } from './secret-file.ts'

const accessOptions: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    meaning: 'the internal address of the gateway; COUNTERSIGN_ADMIN_URL unless given',
  },
  secretOption('credential', 'a file with the credential; COUNTERSIGN_ADMIN_CREDENTIAL unless given'),
]

const documentOptions: readonly Option[] = [
  {
    ...{ name: 'file', short: 'f', value: 'FOLDER', required: true },
    meaning: 'a folder of documents: .yaml, .yml, .json; or one file; - reads standard input',
  },
  ...accessOptions,
  { name: 'owner', value: 'LABEL', meaning: 'whose the things are, where a document does not say it' },
]

export const applyCommands: readonly Command[] = [
  {
    name: 'apply',
    needs: 'nothing',
    summary:
      'Makes the house as documents say: shows a plan, asks, and does it. What gives power is proposed. Ends with code 3 when something is left that waits for a decision.',
    options: [
      ...documentOptions,
      { name: 'prune', meaning: 'remove what carries the label of an owner here, and stands in no document' },
      {
        name: 'reason',
        value: 'TEXT',
        meaning: 'why: for the log, and for whoever decides; the file unless given',
      },
      { name: 'dry-run', meaning: 'only show the plan' },
      { name: 'yes', meaning: 'do not ask' },
    ],
    async run({ print }, words) {
      const prunes = words.has('prune')
      const { administration, options, plan } = await openPlan(print, words)
      sayPlan(print, plan, { prunes })
      const todo = plan.filter((step) => isToDo(step, prunes))
      const isDone = words.has('dry-run') || todo.length === 0
      if (!isDone) await confirm(words, todo.length)
      const done = isDone ? [] : await carryOut(administration, todo, options, print)
      const results = new Map(done.map((step) => [keyOf(step), step]))
      const steps = plan.map((step) => results.get(keyOf(step)) ?? step)
      print.json({ dryRun: words.has('dry-run'), steps: steps.map(describeStep), summary: summarize(steps) })
      if (!words.has('dry-run')) tellLeft(steps, prunes)
    },
  },
  {
    name: 'diff',
    needs: 'nothing',
    summary:
      'Shows what "countersign apply" would do. Ends with code 0 when the house is as the documents say, with 2 when it is not, and with 1 when that could not be found out.',
    options: documentOptions,
    async run({ print }, words) {
      const { plan } = await openPlan(print, words)
      sayPlan(print, plan, { prunes: false })
      print.json({ steps: plan.map(describeStep), summary: summarize(plan) })
      const drifted = plan.filter(({ outcome }) => outcome !== 'unchanged')
      if (drifted.length > 0)
        throw new Drift(`Not as the documents say: ${drifted.length} of ${plan.length}.`)
    },
  },
  {
    name: 'export',
    needs: 'nothing',
    summary:
      'Prints the house as documents for "countersign apply": all but people, authorizations and secrets.',
    options: [
      ...accessOptions,
      { name: 'owner', value: 'LABEL', meaning: 'only what carries this label' },
      { name: 'kind', value: 'KIND', multiple: true, meaning: 'only these; may be repeated' },
    ],
    async run({ print }, words) {
      const administration = openAccess(words)
      const wanted = words.all('kind')
      const unknown = wanted.find((word) => !documentKinds.some((kind) => kind === word))
      if (unknown !== undefined)
        throw new UsageError(`--kind must be one of ${documentKinds.join(', ')}; not "${unknown}"`)
      const documents: PrintedDocument[] = []
      for (const kind of documentKinds.filter((each) => wanted.length === 0 || wanted.includes(each)))
        for await (const object of administration.list(kind, words.find('owner'))) {
          documents.push(toDocument(kind, object))
          print.progress(`${documents.length} read`)
        }
      print.progress('')
      print.json(documents)
      for (const document of documents) print.text(await printDocument(document))
    },
  },
]

async function openPlan(print: Printer, words: CommandWords) {
  const administration = openAccess(words)
  const options = { owner: words.find('owner'), reason: words.find('reason'), progress: print.progress }
  const documents = await readDocuments(words.get('file'))
  refuseBurntKeys(documents)
  if (words.has('prune') && ownersOf(documents, options).size === 0)
    throw new UsageError('--prune removes what is of an owner: say whose, in the documents or by --owner.')
  const plan = await makePlan(administration, documents, options).finally(() => print.progress(''))
  return { administration, options, plan }
}

/** They go no further: neither to the gateway nor into a plan that somebody keeps. */
function refuseBurntKeys(documents: readonly HouseDocument[]): void {
  const faults = documents.flatMap((document) =>
    findBurntKeys(document.spec.jwks).map(
      (problem) => `${printSpot(document.spot, 'spec.jwks')}: ${keyOf(document)}: spec.jwks ${problem}`,
    ),
  )
  if (faults.length > 0) throw new FaultyDocuments(faults)
}

function openAccess(words: CommandWords): Administration {
  const settings = readAdministrationSettings()
  const url = words.find('url') ?? settings.url
  const credential = takeSecret(words, 'credential') ?? settings.credential
  if (url === undefined || credential === undefined)
    throw new UsageError(
      'Say which gateway, and as whom: --url and --credential-file, or COUNTERSIGN_ADMIN_URL and COUNTERSIGN_ADMIN_CREDENTIAL. "countersign credential create" makes a credential.',
    )
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new UsageError('--url must be a URL, such as http://127.0.0.1:8082')
  return openAdministration({ url: url.replace(/\/$/, ''), credential })
}

/** A pipeline has nobody to ask. */
async function confirm(words: CommandWords, acts: number): Promise<void> {
  if (words.has('yes')) return
  if (!process.stdin.isTTY || words.get('file') === '-')
    throw new UsageError('Nobody is there to ask: say --yes to do it, or --dry-run to see the plan alone.')
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await asking
    .question(`Do this (${acts})? Only "yes" is taken: `)
    .finally(() => asking.close())
  if (answer.trim() !== 'yes') throw new UsageError('Nothing was done.')
}

async function carryOut(
  administration: Administration,
  todo: readonly PlannedStep[],
  options: PlanOptions,
  print: Printer,
): Promise<PlannedStep[]> {
  const done: PlannedStep[] = []
  try {
    for await (const step of applyPlan(administration, todo, options)) {
      print.progress('')
      sayDone(print, step)
      done.push(step)
    }
    return done
  } catch (error) {
    const failed = todo[done.length]!
    const left = todo.length - done.length
    const faults = failed.document
      ? printRefusal(error, failed.document)
      : [`${keyOf(failed)}: ${String(error)}`]
    throw new FaultyDocuments([
      ...faults,
      `Done before it: ${done.length}; left: ${left}, this one among them. Apply again: what is done stays as it is.`,
    ])
  } finally {
    print.progress('')
  }
}

function sayDone(print: Printer, step: PlannedStep): void {
  print.say(`${keyOf(step)}: ${step.outcome}`, step.outcome === 'blocked' ? 'proposed' : 'good')
  for (const { id, kind, isNew } of step.proposals)
    print.say(
      `    proposal ${id} (${kind})${isNew ? '' : ', which was made before'}: waits for another person`,
      'proposed',
    )
}

function tellLeft(steps: readonly PlannedStep[], prunes: boolean): void {
  const left = steps.filter(({ outcome }) => outcome === 'blocked' || (prunes && outcome === 'kept'))
  if (left.length === 0) return
  throw new PartialSuccess(
    `Left: ${left.map((step) => `${keyOf(step)} (${step.note})`).join(', ')}. Apply again when that is decided.`,
  )
}
