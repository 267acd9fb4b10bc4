/**
 * The subject by which a client's certificate is known (RFC 8705, 2.1), where an authority of MTLS_CA_FILE
 * issues it. The brokerage says it: whoever gets such a certificate is the client.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { normaliseName } from '../crypto/distinguished-name.ts'
import type { Sql } from '../database/database.ts'
import { Invalid } from '../problem.ts'
import type { Client } from './client.ts'
import { updateCertificateSubject } from './clients.sql.ts'

export const longestSubject = 500

/** Null takes it away. */
export function setCertificateSubject(
  db: Sql,
  { id, branchId }: Pick<Client, 'id' | 'branchId'>,
  certificateSubject: string | null,
  act: Act,
): Promise<Client> {
  const problem = certificateSubject === null ? undefined : findSubjectProblem(certificateSubject)
  if (problem !== undefined) throw new Invalid([{ field: 'certificateSubject', problem }])
  return db.transaction(async (sql) => {
    const updated = await sql.one(updateCertificateSubject, { id, certificateSubject, updatedAt: act.at })
    await recordAct(sql, act, 'client.certificate_set', `client:${id}`, { branchId, certificateSubject })
    return updated
  })
}

function findSubjectProblem(text: string): string | undefined {
  if (text.length > longestSubject) return `must have at most ${longestSubject} characters`
  return normaliseName(text) === undefined
    ? 'must be a distinguished name (RFC 4514), such as CN=client.example.com,O=Example Ltd,C=US'
    : undefined
}
