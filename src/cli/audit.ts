import { compareAnchors } from '../audit/anchor-check.ts'
import { findEntries, printEntry } from '../audit/audit.ts'
import { parseHead, printHead } from '../audit/block.ts'
import { containsHead, verifyChain } from '../audit/chain.ts'
import { openHeadSigner } from '../audit/head-signer.ts'
import { readPushState } from '../audit-push/push-state.ts'
import type { Sql } from '../database/database.ts'
import { Invalid } from '../problem.ts'
import { type Command, UsageError } from './command.ts'
import { verifyFile } from './evidence.ts'

export const auditCommands: readonly Command[] = [
  {
    name: 'audit list',
    needs: 'reading',
    summary: 'Shows the newest entries of the audit log.',
    options: [
      { name: 'actor', value: 'ACTOR', meaning: 'only what this actor did, such as user:id-…' },
      { name: 'action', value: 'ACTION', meaning: 'only this action, such as client or client.created' },
      { name: 'subject', value: 'TARGET', meaning: 'only what was done to this subject' },
      { name: 'limit', value: 'N', meaning: '50 unless given' },
    ],
    async run({ db, print }, words) {
      const filter = {
        actor: words.find('actor'),
        action: words.find('action'),
        subject: words.find('subject'),
      }
      const rows = await findEntries(db, { ...filter, limit: parseLimit(words.find('limit') ?? '50') })
      print.table(rows.map(printEntry), 'No entries.')
    },
  },
  {
    name: 'audit verify',
    needs: 'database',
    summary:
      'Walks the whole chain of the audit log and compares it with the heads in AUDIT_ANCHOR_FILE, which show what was removed. --anchor compares with one that you kept elsewhere. With a file of evidence that the console exported, or of lines that a listener kept: says what it proves, and needs neither database nor configuration.',
    optional: { word: 'file', run: verifyFile },
    options: [
      { name: 'anchor', value: 'POSITION:HASH', meaning: 'a head printed by an earlier run' },
      {
        name: 'key',
        value: 'KEY',
        meaning: 'with a file: the public key of the log, as "audit key" prints it',
      },
    ],
    async run({ db, vault, config, clock, print }, words) {
      if (words.has('key')) throw new UsageError('--key goes with a file.')
      const anchor = words.find('anchor')
      const result = await verifyChain(db, clock.now(), (position) => print.progress(`block ${position}`))
      print.progress('')
      if (result.kind === 'broken')
        throw new Error(`The audit chain is broken at block ${result.position}: ${result.problem}.`)
      if (anchor !== undefined) await checkAnchor(db, anchor)
      const file = config.auditAnchorFile
      const written = file === undefined ? undefined : await compareAnchors(db, vault, file)
      if (written && written.problems.length > 0) throw new Error(`${written.problems.join('.\n')}.`)
      const compared = { anchors: written?.anchors ?? 0, newest_anchor: written?.newest?.at ?? null }
      print.record({ intact: true, entries: result.entries, head: printHead(result.head), ...compared })
      if (!written)
        print.say(`\nThere is no file of anchors to compare with${file === undefined ? '' : ` at ${file}`}.`)
    },
  },
  {
    name: 'audit listener',
    needs: 'reading',
    summary: 'Shows how far the collector of AUDIT_PUSH_URL has heard the audit log, and why no further.',
    async run({ db, config, clock, print }) {
      if (!config.auditPush) return print.say('The audit log is pushed to nobody: AUDIT_PUSH_URL is not set.')
      const { host, address } = config.auditPush
      const state = await readPushState(db, address, clock.now())
      print.record({
        ...{ collector: host, heard_block: state.position, heard_at: state.heardAt },
        ...{ unheard_blocks: state.unheardBlocks, unheard_seconds: Math.round(state.unheardMs / 1_000) },
        ...{ failing_since: state.failingSince, failure: state.failure },
      })
    },
  },
  {
    name: 'audit key',
    needs: 'database',
    summary:
      'Prints the public key of the audit log, with which everybody can check what it signed. Publish it.',
    async run({ db, vault, print }) {
      print.record({ key: (await openHeadSigner(db, vault)).publicKey })
    },
  },
]

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new Invalid([{ field: 'limit', problem: 'must be a whole number from 1 to 999999' }])
  return Number(text)
}

async function checkAnchor(db: Sql, anchor: string): Promise<void> {
  if (await containsHead(db, parseHead(anchor))) return
  throw new Error(
    `The chain does not contain the anchor ${anchor}: entries up to it were removed or rewritten.`,
  )
}
