/** Whether the audit log still has every block whose head was written down outside the database. */
import { compareAnchors } from '../audit/anchor-check.ts'
import { findHead } from '../audit/chain.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import type { Config } from '../settings/config.ts'
import { type Answer, fail, ok, warn } from './finding.ts'

const cutAdvice =
  'Keep a copy of the database and of the file, and compare with a backup: somebody wrote to the tables by hand. After a restore to an earlier moment, or with another database, move the file away.'
const absentAdvice =
  'A gateway writes it within a minute of the first entry. If it did before, somebody took it away.'

export async function checkAnchors(
  { auditAnchorFile: file }: Config,
  vault: Vault,
  db: Database,
): Promise<Answer> {
  if (file === undefined) return { finding: ok('Heads of the audit log go to the process log alone.') }
  const report = await compareAnchors(db, vault, file)
  if (!report) {
    const found = `There is no ${file} to compare the audit log with.`
    return { finding: (await findHead(db)).position === 0 ? ok(found) : warn(found, absentAdvice) }
  }
  if (report.problems.length > 0) return { finding: fail(`${report.problems.join('. ')}.`, cutAdvice) }
  const newest = report.newest ? `, the newest of ${report.newest.at}` : ''
  return {
    finding: ok(`The audit log has every block of the ${report.anchors} anchors in ${file}${newest}.`),
  }
}
