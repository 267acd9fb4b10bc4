/**
 * What is wrong with a client assertion and a DPoP proof that a developer pastes, and by how much: by the same
 * judges that answer calls. Nothing is used up and nothing is kept; whether one was used already is only looked
 * at.
 */
import { parseCompactJws } from '../crypto/compact-jws.ts'
import type { Sql } from '../database/database.ts'
import type { Registration } from '../partners/client.ts'
import type { assertionCauses, dpopCauses } from '../partners/proof-causes.ts'
import { type AssertionCheck, judgeAssertion, parseAssertion } from './client-assertion.ts'
import { type DpopCheck, judgeProof, normaliseAddress } from './dpop.ts'
import type { DpopNonces } from './dpop-nonce.ts'
import type { ProofFault, ProofUse } from './proof.ts'
import { wasUsed } from './used-proofs.ts'

/** Both take as much. */
export const pastedMaxCharacters = 4_096

export interface CheckedProof {
  readonly what: 'assertion' | 'proof'
  /** What was understood of it; undefined where it is no JWT. */
  readonly header: object | undefined
  readonly claims: object | undefined
  readonly faults: readonly CheckedFault[]
  readonly thumbprint: string | undefined
}

export interface CheckedFault {
  readonly problem: string
  readonly rule: keyof typeof assertionCauses | keyof typeof dpopCauses
}

const notRead = { header: undefined, claims: undefined, thumbprint: undefined }

export async function checkAssertion(
  sql: Sql,
  text: string,
  client: Pick<Registration, 'id' | 'keys'>,
  issuer: string,
  now: Date,
): Promise<CheckedProof> {
  const assertion = parseAssertion(text)
  if (!assertion) {
    const problem = `it is no compact JWT of at most ${pastedMaxCharacters} characters`
    return { what: 'assertion', ...notRead, faults: [{ problem, rule: 'assertion-form' }] }
  }
  const { id: clientId, keys } = client
  const { faults, keyId, use } = judgeAssertion(assertion, { clientId, keys, issuer, now })
  const ofAssertion = ({ problem, check }: ProofFault<AssertionCheck>): CheckedFault => ({
    problem,
    rule: `assertion-${check}`,
  })
  return {
    what: 'assertion',
    header: assertion.header,
    claims: assertion.claims,
    faults: [...faults, ...(await findUse(sql, use, 'used'))].map(ofAssertion),
    thumbprint: keys.find(({ id }) => id === keyId)?.thumbprint,
  }
}

interface CheckedRequest {
  readonly method: string
  readonly url: string
  readonly accessToken: string | undefined
  readonly nonces: DpopNonces
  readonly demandsNonce: boolean
}

export async function checkProof(
  sql: Sql,
  text: string,
  { url, ...request }: CheckedRequest,
  now: Date,
): Promise<CheckedProof> {
  const addresses = [normaliseAddress(url) ?? url]
  const { faults, thumbprint, use } = judgeProof(text, { ...request, addresses, now })
  const read = parseCompactJws(text, pastedMaxCharacters)
  const ofProof = ({ problem, check }: ProofFault<DpopCheck>): CheckedFault => ({
    problem,
    rule: `dpop-${check}`,
  })
  return {
    what: 'proof',
    header: read?.header,
    claims: read?.claims,
    faults: [...faults, ...(await findUse(sql, use, 'used'))].map(ofProof),
    thumbprint,
  }
}

async function findUse<Check extends string>(
  sql: Sql,
  use: ProofUse | undefined,
  check: Check,
): Promise<ProofFault<Check>[]> {
  if (use === undefined || !(await wasUsed(sql, use))) return []
  return [{ check, problem: 'its jti was used already: sign a new one for each request' }]
}
