/** Where alerts go, of a partner or of the brokerage, as the portal and the console have it. */
import { listLastAlerts } from '../alerts/history.ts'
import {
  type AlertOwner,
  type AlertTarget,
  addAddress,
  changeTarget,
  confirmAddress,
  listTargets,
  removeAddress,
  sendCode,
  sendTest,
  theBrokerage,
} from '../alerts/target.ts'
import { minute } from '../clock.ts'
import { hostOf } from '../notices/alert.ts'
import { getPartner } from '../partners/partner.ts'
import { Invalid } from '../problem.ts'
import { type AlertKind, partnerAlertKinds, staffAlertKinds } from '../vocabulary/alert-kind.ts'
import { nameOutcome } from '../web/parts/alert-page.ts'
import {
  type Command,
  type CommandWords,
  type Option,
  type ReadContext,
  UsageError,
  type WriteContext,
} from './command.ts'
import { parseDuration, parseEnvironment } from './environment.ts'

const ownerOptions: readonly Option[] = [
  { name: 'partner', value: 'NAME|ID', meaning: 'of this partner; of the brokerage unless given' },
  { name: 'environment', value: 'live|sandbox', meaning: 'of a partner: live unless given' },
]

const choiceOptions: readonly Option[] = [
  {
    name: 'tell',
    value: 'KINDS',
    meaning: `some of ${partnerAlertKinds.join(', ')}; of the brokerage also lag, provider; or none`,
  },
  { name: 'wait', value: 'DURATION', meaning: 'how long something fails before it is told, at most 24h' },
]

const usualWait = '15m'
/** More than there are addresses, so that each has its last one among them. */
const lastAtMost = 200

export const alertCommands: readonly Command[] = [
  {
    name: 'alert list',
    needs: 'reading',
    summary: 'Lists where alerts go, of what each tells, and what the last one came to.',
    options: ownerOptions,
    async run({ db, print }, words) {
      const targets = await listTargets(db, await ownerOf(db, words))
      const last = await listLastAlerts(db, targets, lastAtMost)
      const rows = targets.map((target) => {
        const alert = last.find(({ targetId }) => targetId === target.id)
        return {
          ...fieldsOf(target),
          last: alert ? `${alert.kind}, ${alert.state}` : null,
          last_at: alert?.createdAt ?? null,
          last_outcome: alert && alert.outcome !== null ? nameOutcome(alert.outcome) : null,
        }
      })
      print.table(rows, 'Alerts go nowhere.')
    },
  },
  {
    name: 'alert add',
    needs: 'database',
    summary:
      'Adds an address, such as an incoming webhook of Slack. A code is POSTed to it, which confirms it; its signing secret is shown once.',
    options: [
      ...ownerOptions,
      { name: 'url', value: 'URL', required: true, meaning: 'https, on a public address' },
      ...choiceOptions,
    ],
    async run({ db, vault, config, act, print }, words) {
      const owner = await ownerOf(db, words)
      const [mail] = await listTargets(db, owner)
      const draft = {
        url: words.get('url'),
        what: parseKinds(words, owner) ?? mail?.what ?? [],
        waitMinutes: parseWait(words) ?? parseMinutes(usualWait),
      }
      const deps = { vault, policy: config.webhooks }
      const { target, secret } = await addAddress(db, deps, owner, draft, act())
      print.record({ ...fieldsOf(target), secret })
      print.say(
        `\nKeep the secret now: it is not shown again.\nThen say the code that was POSTed there: countersign alert confirm ${target.id} --code CODE${ownerWords(words)}`,
      )
    },
  },
  onTarget(
    'alert confirm',
    'Confirms an address by the code that was POSTed to it.',
    [{ name: 'code', value: 'CODE', required: true, meaning: 'eight digits, good for an hour' }],
    ({ db, vault, act }, owner, id, words) => confirmAddress(db, vault, owner, id, words.get('code'), act()),
  ),
  onTarget(
    'alert send-code',
    'POSTs a new code to an address that is not confirmed.',
    [],
    ({ db, act }, owner, id) => sendCode(db, owner, id, act()),
  ),
  onTarget(
    'alert change',
    'Changes of what an address or the mail tells, and after how long. What is not given stays.',
    choiceOptions,
    async ({ db, act }, owner, id, words) => {
      const [what, waitMinutes] = [parseKinds(words, owner), parseWait(words)]
      if (what === undefined && waitMinutes === undefined)
        throw new UsageError('Say what to change: --tell, --wait.')
      const standing = (await listTargets(db, owner)).find((target) => target.id === id)
      const choice = {
        what: what ?? standing?.what ?? [],
        waitMinutes: waitMinutes ?? standing?.waitMinutes ?? 0,
      }
      await changeTarget(db, owner, id, choice, act())
    },
  ),
  onTarget('alert test', 'Sends a test alert to an address.', [], ({ db, act }, owner, id) =>
    sendTest(db, owner, id, act()),
  ),
  {
    name: 'alert remove',
    needs: 'database',
    summary: 'Removes an address. What waits for it is dropped.',
    positionals: ['alert'],
    options: ownerOptions,
    async run({ db, act, print }, words) {
      const id = idOf(words)
      await removeAddress(db, await ownerOf(db, words), id, act())
      print.record({ removed_alert: id })
    },
  },
]

function onTarget(
  name: string,
  summary: string,
  options: readonly Option[],
  act: (context: WriteContext, owner: AlertOwner, id: number, words: CommandWords) => Promise<void>,
): Command {
  return {
    ...{ name, summary, positionals: ['alert'] },
    needs: 'database',
    options: [...ownerOptions, ...options],
    async run(context, words) {
      const owner = await ownerOf(context.db, words)
      const id = idOf(words)
      await act(context, owner, id, words)
      const [target] = (await listTargets(context.db, owner)).filter((each) => each.id === id)
      context.print.record(target ? fieldsOf(target) : { id })
    },
  }
}

const idOf = (words: CommandWords) => Number(words.positional('alert')) || 0

async function ownerOf(db: ReadContext['db'], words: CommandWords): Promise<AlertOwner> {
  const [partner, environment] = [words.find('partner'), words.find('environment')]
  if (partner === undefined) {
    if (environment !== undefined)
      throw new UsageError('--environment needs --partner: the brokerage is told of both sites in one place.')
    return theBrokerage
  }
  const { branchId } = await getPartner(db, partner)
  return { branchId, environment: parseEnvironment(environment) }
}

/** The same owner in the next command. */
function ownerWords(words: CommandWords): string {
  return ['partner', 'environment']
    .filter((name) => words.has(name))
    .map((name) => ` --${name} ${JSON.stringify(words.get(name))}`)
    .join('')
}

function parseKinds(words: CommandWords, { branchId }: AlertOwner): AlertKind[] | undefined {
  const text = words.find('tell')
  if (text === undefined) return undefined
  const known: readonly AlertKind[] = branchId === null ? staffAlertKinds : partnerAlertKinds
  const kinds = text === 'none' ? [] : text.split(/[\s,]+/).filter((kind) => kind !== '')
  const isKnown = (kind: string): kind is AlertKind => (known as readonly string[]).includes(kind)
  if (!kinds.every(isKnown))
    throw new Invalid([{ field: 'tell', problem: `must be some of ${known.join(', ')}; or none` }])
  return kinds
}

function parseWait(words: CommandWords): number | undefined {
  const text = words.find('wait')
  return text === undefined ? undefined : parseMinutes(text)
}

const parseMinutes = (text: string) => parseDuration(text, 'wait') / minute

/** Of an address its host alone: the rest may be a credential. */
function fieldsOf({ id, kind, state, url, what, waitMinutes, createdAt }: AlertTarget) {
  const to = url === null ? 'mail' : hostOf(url)
  return { id, to, kind, state, tell: what, wait_minutes: waitMinutes, created_at: createdAt }
}
