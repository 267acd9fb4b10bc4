/**
 * Why a signature does not verify. A partner's developer pastes the headers and the body that came, and, if
 * they like, what their own program computed. Every signature among these is checked against that partner's
 * secrets, over the body as it is and as the usual mistakes make it (signature-mistakes.ts). It says which
 * secret matches by its name, and nothing else of any secret; comparisons take the same time wherever bytes
 * differ.
 */
import { createHash, createHmac } from 'node:crypto'
import { equalBytes } from '../../crypto/hash.ts'
import { decodeStandardKey } from '../outbound/signature.ts'
import { type Difference, findDifference } from './byte-difference.ts'
import { type PastedHeaders, type PresentedMac, readMac, readStandardMacs } from './signature-headers.ts'
import {
  bodyMistakes,
  isSameJson,
  keyMistakes,
  type MistakenBody,
  mistakes,
  type SignatureMistake,
} from './signature-mistakes.ts'

export const checkedBytesAtMost = 64 * 1024
/**
 * All that a check may hash: a large body is tried in fewer ways, so that one check does not keep other
 * requests waiting.
 */
const hashedBytesAtMost = 32 * 1024 * 1024

/** Only secrets of the partner who asks. */
export interface NamedSecret {
  readonly name: string
  /** `next` has not begun to sign, `previous` still verifies, `ended` does not. */
  readonly state: 'current' | 'next' | 'previous' | 'ended'
  /** The webhook that is asked about has a secret of its own: this one does not sign it. */
  readonly isOverruled: boolean
  readonly text: string
}

interface SignatureQuestion {
  readonly headers: PastedHeaders
  readonly body: Buffer
  /** What the partner's own program computed. */
  readonly computed: string | undefined
  readonly secrets: readonly NamedSecret[]
  /** The body of the event that `webhook-id` names, as it was sent. */
  readonly sent: string | undefined
}

type Source = 'x-webhook-signature' | 'webhook-signature' | 'computed'

/** What is known of one signature. */
export interface SignatureFinding {
  readonly source: Source
  /** Undefined when no secret made it of anything that was tried. */
  readonly secret: Pick<NamedSecret, 'name' | 'state' | 'isOverruled'> | undefined
  /** It verifies as it stands. */
  readonly isRight: boolean
  readonly mistakes: readonly SignatureMistake[]
}

export interface SignatureAnswer {
  readonly findings: readonly SignatureFinding[]
  /** Between what was sent and what was pasted. */
  readonly difference: Difference | undefined
  /** The event was found, and the body is what was sent. */
  readonly isAsSent: boolean | undefined
  /** The body was too large to try everything. */
  readonly isCutShort: boolean
}

/** One way in which a signature may have come about. */
interface SignatureCandidate {
  readonly secret: NamedSecret
  readonly body: TriedBody
  readonly keyMistakes: readonly SignatureMistake[]
  /** Over `id.timestamp.body`. */
  readonly isStandard: boolean
  readonly digest: Buffer
}

/** What a check may still hash. */
interface Budget {
  bytes: number
}

export function checkSignature(question: SignatureQuestion): SignatureAnswer {
  const presented = presentedIn(question)
  const budget = { bytes: hashedBytesAtMost }
  const found = findWays(presented, waysOf(question, budget))
  const findings = findingsOf(presented, found, question)
  const sent = question.sent === undefined ? undefined : Buffer.from(question.sent)
  return {
    findings: findings.map((finding) => compareSecrets(finding, findings)),
    difference: sent && findDifference(sent, question.body),
    isAsSent: sent && equalBytes(sent, question.body),
    isCutShort: budget.bytes < 0,
  }
}

function presentedIn({ headers, computed }: SignatureQuestion): PresentedMac[] {
  return [
    ...(headers.body === undefined ? [] : [readMac('x-webhook-signature', headers.body)]),
    ...(headers.standard === undefined ? [] : readStandardMacs('webhook-signature', headers.standard)),
    ...(computed === undefined ? [] : [readMac('computed', computed)]),
  ]
}

/** For each signature the first way that leads to it. */
function findWays(
  presented: readonly PresentedMac[],
  ways: Iterable<SignatureCandidate>,
): Map<PresentedMac, SignatureCandidate> {
  const found = new Map<PresentedMac, SignatureCandidate>()
  const open = new Set(presented)
  for (const way of ways) {
    for (const mac of open) {
      if (!equalBytes(mac.bytes, way.digest)) continue
      found.set(mac, way)
      open.delete(mac)
    }
    if (open.size === 0) break
  }
  return found
}

/** From the likely to the far-fetched. */
function* waysOf(question: SignatureQuestion, budget: Budget): Generator<SignatureCandidate> {
  const { secrets, sent, body, headers } = question
  const own: TriedBody = { bytes: body }
  const asSent: TriedBody[] = sent === undefined ? [] : [{ bytes: Buffer.from(sent), ...notAsSent }]
  const given = [own, ...asSent]
  const plain = secrets.map((secret) => ({ secret, key: secret.text, mistakes: [] }))
  yield* sign(plain, given, headers, budget)
  yield* sign(secrets.flatMap(decodedKeyOf), given, headers, budget)
  yield* sign(
    plain,
    [...bodyMistakes(body), ...asSent.flatMap(({ bytes }) => bodyMistakes(bytes))],
    headers,
    budget,
  )
  yield* sign(secrets.flatMap(wrongKeysOf), given, headers, budget)
  yield* signOtherwise(secrets, given, budget)
}

/** A body, and what has to have gone wrong with it: nothing where nothing is named. */
interface TriedBody extends Partial<Pick<MistakenBody, 'made' | 'undone'>> {
  readonly bytes: Buffer
}

const notAsSent = { made: mistakes.otherBody, undone: mistakes.otherBody }

interface TriedKey {
  readonly secret: NamedSecret
  readonly key: string | Buffer
  readonly mistakes: readonly SignatureMistake[]
  /** Where it is right for `webhook-signature` alone. */
  readonly mistakesOfBody?: readonly SignatureMistake[]
}

/** Libraries of Standard Webhooks read what follows `whsec_` as base64. */
function decodedKeyOf(secret: NamedSecret): TriedKey[] {
  const key = decodeStandardKey(secret.text)
  return key ? [{ secret, key, mistakes: [], mistakesOfBody: [mistakes.secretDecoded] }] : []
}

function wrongKeysOf(secret: NamedSecret): TriedKey[] {
  return keyMistakes(secret.text).map(({ key, mistake }) => ({ secret, key, mistakes: [mistake] }))
}

function* sign(
  keys: readonly TriedKey[],
  bodies: readonly TriedBody[],
  { id, timestamp }: PastedHeaders,
  budget: Budget,
): Generator<SignatureCandidate> {
  const prefix = id === undefined || timestamp === undefined ? undefined : `${id}.${timestamp}.`
  for (const body of bodies) {
    for (const { secret, key, mistakes: wrong, mistakesOfBody = wrong } of keys) {
      budget.bytes -= 2 * body.bytes.length
      if (budget.bytes < 0) return
      const ofBody = createHmac('sha256', key).update(body.bytes).digest()
      yield { secret, body, keyMistakes: mistakesOfBody, isStandard: false, digest: ofBody }
      if (prefix === undefined) continue
      const ofAll = createHmac('sha256', key).update(prefix).update(body.bytes).digest()
      yield { secret, body, keyMistakes: wrong, isStandard: true, digest: ofAll }
    }
  }
}

/** By another hash, or by none with a key. */
function* signOtherwise(
  secrets: readonly NamedSecret[],
  bodies: readonly TriedBody[],
  budget: Budget,
): Generator<SignatureCandidate> {
  for (const body of bodies) {
    for (const secret of secrets) {
      budget.bytes -= 4 * body.bytes.length
      if (budget.bytes < 0) return
      const { text } = secret
      const by = (mistake: SignatureMistake, digest: Buffer): SignatureCandidate => ({
        secret,
        body,
        keyMistakes: [mistake],
        isStandard: false,
        digest,
      })
      yield by(mistakes.otherHash, createHmac('sha1', text).update(body.bytes).digest())
      yield by(mistakes.otherHash, createHmac('sha512', text).update(body.bytes).digest())
      yield by(mistakes.noHmac, createHash('sha256').update(text).update(body.bytes).digest())
      yield by(mistakes.noHmac, createHash('sha256').update(body.bytes).update(text).digest())
    }
  }
}

/** Of `webhook-signature` any may match: the one that does speaks for it. */
function findingsOf(
  presented: readonly PresentedMac[],
  found: ReadonlyMap<PresentedMac, SignatureCandidate>,
  question: SignatureQuestion,
): SignatureFinding[] {
  return [...Map.groupBy(presented, ({ source }) => source).values()].flatMap((macs) => {
    const findings = macs.map((mac) => explain(mac, found.get(mac), question))
    const best = findings.find(({ isRight }) => isRight) ?? findings.find(({ secret }) => secret)
    return best ?? findings.slice(0, 1)
  })
}

function explain(
  mac: PresentedMac,
  way: SignatureCandidate | undefined,
  question: SignatureQuestion,
): SignatureFinding {
  const { source } = mac
  if (!way) return { source, secret: undefined, isRight: false, mistakes: unexplained(mac, question) }
  const { secret, body, keyMistakes: ofKey } = way
  const ofBody = (source === 'computed' ? body.made : body.undone) ?? undefined
  const wrong = [
    ...mac.mistakes,
    ...findShapeMistakes(mac, way),
    ...(ofBody ? [nameBody(ofBody, question)] : []),
    ...ofKey,
    ...findAgeMistakes(secret, source),
    ...(secret.isOverruled ? [mistakes.anotherSecret] : []),
  ]
  return {
    source,
    secret: { name: secret.name, state: secret.state, isOverruled: secret.isOverruled },
    isRight: wrong.length === 0,
    mistakes: wrong,
  }
}

/** A program that computes with a right secret of another webhook, or of a client, than the request was signed with. */
function compareSecrets(finding: SignatureFinding, all: readonly SignatureFinding[]): SignatureFinding {
  const signer = all.find(({ source, secret }) => source !== 'computed' && secret)?.secret
  const isAnother =
    signer !== undefined && finding.secret !== undefined && signer.name !== finding.secret.name
  if (finding.source !== 'computed' || !isAnother || finding.mistakes.includes(mistakes.anotherSecret))
    return finding
  return { ...finding, isRight: false, mistakes: [...finding.mistakes, mistakes.anotherSecret] }
}

/** A program that means the one header and computes the other. */
function findShapeMistakes(
  { source, encoding }: PresentedMac,
  { isStandard }: SignatureCandidate,
): SignatureMistake[] {
  if (source === 'webhook-signature') return isStandard ? [] : [mistakes.bodyAlone]
  // What a program computed may be meant for either: in base64 over all three, or in hex over the body.
  const isForOther = isStandard && (source === 'x-webhook-signature' || encoding === 'hex')
  return [
    ...(isForOther ? [mistakes.standardContent] : []),
    ...(!isStandard && encoding === 'base64' ? [mistakes.base64] : []),
  ]
}

/** A body that is not what was sent, by the name of what happened to it. */
function nameBody(mistake: SignatureMistake, { sent, body }: SignatureQuestion): SignatureMistake {
  if (mistake !== mistakes.otherBody || sent === undefined) return mistake
  const known = bodyMistakes(Buffer.from(sent)).find(({ bytes }) => equalBytes(bytes, body))
  if (known) return known.made
  return isSameJson(sent, body.toString('utf8')) ? mistakes.printedAnew : mistake
}

/**
 * During a rotation both are in `webhook-signature`; the other header is signed by the one that was current
 * when it was sent.
 */
function findAgeMistakes({ state }: NamedSecret, source: Source): SignatureMistake[] {
  if (state === 'ended') return [mistakes.oldSecret]
  if (source !== 'computed') return []
  return state === 'current' ? [] : [state === 'next' ? mistakes.nextSecret : mistakes.oldSecret]
}

function unexplained(
  { source, mistakes: known }: PresentedMac,
  question: SignatureQuestion,
): SignatureMistake[] {
  const { headers, sent, body } = question
  if (known.some((each) => each === mistakes.cutOff || each === mistakes.noSignature)) return [...known]
  if (source === 'webhook-signature' && (headers.id === undefined || headers.timestamp === undefined))
    return [mistakes.headersMissing]
  const isOther = sent !== undefined && !equalBytes(Buffer.from(sent), body)
  return [...known, ...(isOther ? [nameBody(mistakes.otherBody, question)] : []), mistakes.wrongSecret]
}
