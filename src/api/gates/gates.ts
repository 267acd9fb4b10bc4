/** Who may call: the rows of the API's table name one of these. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import { parseToken, type Token } from '../../crypto/token.ts'
import type { Form } from '../../http/form.ts'
import { printUsage, type Usage } from '../../http/rate-limit.ts'
import type { StandingCheck } from '../../http/standing.ts'
import {
  type Bearer,
  invalidToken,
  obstructedToken,
  parseBearer,
  type RefusedBearer,
  readBearerText,
  requireScope,
  requireSite,
  type TakenKinds,
} from '../../oauth/bearer.ts'
import type { Binding } from '../../oauth/binding.ts'
import { type AuthenticatedClient, takesSecrets } from '../../oauth/client-authentication.ts'
import {
  type ClientCredentials,
  parseBasic,
  parseCredentials,
  refuseCredentialsInQuery,
} from '../../oauth/client-credentials.ts'
import { isInForce } from '../../oauth/client-directory.ts'
import type { IntrospectionCaller } from '../../oauth/introspection.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { demandError } from '../../oauth/profile.ts'
import type { Registration } from '../../partners/client.ts'
import { getBranchOfMember } from '../../partners/partner.ts'
import { Forbidden, Problem } from '../../problem.ts'
import type { Service } from '../../services/service.ts'
import { type MemberRole, reaches } from '../../vocabulary/member-role.ts'
import type { Scope } from '../../vocabulary/scope.ts'
import type { Branch } from '../../webhooks/events/branch.ts'
import {
  type ProvenClient,
  proveClient,
  proveSender,
  showsProof,
  showsSender,
  useUp,
} from './client-proof.ts'
import { demand } from './demand.ts'
import { countFailure, failureKey } from './failures.ts'
import type { ApiGate, Protection } from './gate.ts'
import { protect } from './protection.ts'
import { admitSender, type ForeignRequest } from './sender-gate.ts'
import { judgeClient, judgeMember } from './standing.ts'

export const anyone: ApiGate<undefined> = () => undefined

export interface ClientCaller {
  readonly client: Registration
  /** Of its sender, which tokens are bound to that are given now; undefined where it proves none. */
  readonly binding: Binding | undefined
  readonly act: Act
}

/**
 * Spec 5.4: a client, by HTTP Basic or by form fields; by its key or its certificate. One that is known by its
 * secret, and proves no sender, passes without a promise.
 */
export const client: ApiGate<ClientCaller> = (context, request, reply) => {
  const known = showsProof(request) ? undefined : recallClient(context, request, reply)
  return known && !showsSender(request)
    ? callerOf(context, request, known)
    : getClient(context, request, reply, known)
}

async function getClient(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  known: Registration | undefined,
): Promise<ClientCaller> {
  const proven = known ? { client: known, use: undefined } : await getProven(context, request, reply)
  const sender = proveSender(context, request, proven.client)
  await useUp(context, proven, sender)
  // The next proof may begin with it (RFC 9449, 8.2).
  if (proven.client.demandsDpopNonces) reply.header('dpop-nonce', context.dpopNonces.current())
  return callerOf(context, request, proven.client, sender.binding)
}

async function getProven(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ProvenClient> {
  refuseCredentialsInQuery(request.query as Form)
  if (showsProof(request)) return proveClient(context, request)
  const readings = readCredentials(request)
  const client = await authenticateClient(context, request, reply, readings)
  if (!client) throw await refusalOf(context, readings)
  return { client, use: undefined }
}

/** Whoever has no secret is told so, whatever was sent as one. */
async function refusalOf(
  { clients, clock }: Context,
  readings: readonly ClientCredentials[],
): Promise<OAuthError> {
  const claimed = await clients.find(readings[0]!.id)
  return claimed && !takesSecrets(claimed, clock.now()) ? demandError('key') : refusal()
}

function callerOf(
  context: Context,
  request: FastifyRequest,
  client: Registration,
  binding?: Binding,
): ClientCaller {
  noteClient(request, client)
  return { client, binding, act: actOf(context, request, `client:${client.id}`) }
}

/** What is done through the interface, now. */
export function actOf({ clock, environment }: Context, request: FastifyRequest, name: string): Act {
  return { by: { name, environment, address: request.ip, requestId: request.id }, at: clock.now() }
}

/** RFC 7662: a client, or one of the brokerage's own services. */
export const clientOrService: ApiGate<IntrospectionCaller> = (context, request, reply) => {
  const known = showsProof(request) ? undefined : recallClient(context, request, reply)
  return known ? askerOf(request, known) : admitAsker(context, request, reply)
}

async function admitAsker(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<IntrospectionCaller> {
  if (showsProof(request)) {
    const proven = await getProven(context, request, reply)
    await useUp(context, proven)
    return askerOf(request, proven.client)
  }
  const readings = readCredentials(request)
  const service =
    (asksAnew(request) ? undefined : context.services.recall(readings, context.environment)) ??
    (await findService(context, request, readings))
  if (service) return askingService(context, request, service)
  const found = await authenticateClient(context, request, reply, readings)
  if (found) return askerOf(request, found)
  throw await refusalOf(context, readings)
}

/** A service says by its secret what it is: one that asks is no client that failed. */
async function findService(
  context: Context,
  request: FastifyRequest,
  readings: ClientCredentials[],
): Promise<Service | undefined> {
  if (!readings.some(({ secret }) => parseToken(secret)?.kind === 'serviceSecret')) return undefined
  context.clientFailures.check(failureKey(request, readings[0]!.id))
  return context.services.authenticate(readings, context.environment)
}

function askerOf(request: FastifyRequest, client: Registration): IntrospectionCaller {
  noteClient(request, client)
  return { kind: 'client', clientId: client.id }
}

function askingService(
  { opaqueTags }: Context,
  request: FastifyRequest,
  service: Service,
): IntrospectionCaller {
  request.who = { serviceId: service.id }
  return { kind: 'service', service, words: opaqueTags.ofService(service.id), anew: asksAnew(request) }
}

/** RFC 9111, 5.2.1.4: nothing that was remembered. */
function asksAnew({ headers }: FastifyRequest): boolean {
  return headers['cache-control'] === 'no-cache'
}

function noteClient(request: FastifyRequest, { id, branchId }: Registration): void {
  request.who = { clientId: id, branchId }
}

/** Spec 5.3: a bearer token with the scope. Counted against the token's rate limit. */
export function bearer(scope: Scope): ApiGate<Bearer> {
  return protect({ scope, tokens: 'issued' }, (context, request, reply) => {
    const enter = (admitted: Bearer) => {
      requireSite(admitted, context.baseUrl)
      requireScope(admitted, scope)
      context.activity.note(admitted, scope, context.clock.now())
      return admitted
    }
    const admitted = admitBearer(context, request, reply)
    return admitted instanceof Promise ? admitted.then(enter) : enter(admitted)
  })
}

/** Whatever its scopes. Without a promise where it is remembered and this process counts for itself. */
export function admitBearer(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  foreign?: ForeignRequest,
): Bearer | Promise<Bearer> {
  const text = readBearerText(request.headers.authorization)
  const admit = (bearer: Bearer | RefusedBearer | undefined) => {
    if (!bearer) throw invalidToken()
    if ('obstacle' in bearer) {
      request.formerly = bearer
      throw bearer.obstacle ? obstructedToken(bearer.obstacle) : invalidToken()
    }
    admitSender(context, request, reply, bearer, text, foreign)
    request.who = bearer
    const counted = countUse(context, bearer, reply, context.clock.now())
    return counted ? counted.then(() => bearer) : bearer
  }
  const known = context.bearers.recall(text)
  if (known?.environment === context.environment) return admit(known)
  return context.bearers.judge(parseBearer(text, context.environment, context.sisterUrl)).then(admit)
}

export interface BranchCaller extends Branch {
  /** Absent when a member calls with a personal token. */
  readonly clientId: string | undefined
  readonly act: Act
  /** Whether it would be let in again, for answers that go on. */
  readonly judgeAnew: StandingCheck
}

/**
 * What a personal token of fewer scopes must have: this to look, and `write` to change something.
 */
const ofMembers: Protection = { scope: 'read', tokens: 'personal' }
const branchRemedy = 'Send client_id and client_secret by HTTP Basic, or a personal API token of a member.'
const forBranches: TakenKinds = { kinds: ['personal', 'client'], remedy: branchRemedy }

/**
 * Spec 5.5: a branch, by the credentials of one of its clients, or by the personal token of one of its
 * members (as Bearer, or as the Basic user name with an empty password). A client may do everything here; a
 * member, what their role lets them do at this moment.
 */
export function branch(least: MemberRole): ApiGate<BranchCaller> {
  return protect(ofMembers, async (context, request, reply) => {
    const { authorization } = request.headers
    if (authorization === undefined) throw branchRefusal()
    const readings = /^basic\b/i.test(authorization) ? parseBranchBasic(authorization) : undefined
    const personal = readings?.find(({ secret }) => secret === '')
    if (readings && !personal) return clientBranch(context, request, reply, readings)
    const text = personal ? personal.id : readBearerText(authorization)
    const token = parseBearer(text, context.environment, context.sisterUrl, forBranches)
    if (token.kind === 'client') return tokenBranch(context, request, reply, token)
    const known = await context.bearers.find(token)
    if (!known) throw personal ? branchRefusal() : invalidToken()
    if (!personal) admitSender(context, request, reply, known, text)
    request.who = known
    await countUse(context, known, reply, context.clock.now())
    requireScope(known, least === 'viewer' ? 'read' : 'write')
    const { environment } = context
    const { branchId, role } = await getBranchOfMember(context.db, known.userId, environment)
    const act = actOf(context, request, `user:${known.userId}`)
    request.who = { userId: known.userId, branchId }
    if (!reaches(role, least)) throw lackingRole(role, least)
    const judgeAnew = () => judgeMember(context, token, branchId, least)
    return { branchId, environment, clientId: undefined, act, judgeAnew }
  })
}

function lackingRole(role: MemberRole, least: MemberRole): Forbidden {
  return new Forbidden(
    `This needs the ${least} role, and this user is a ${role}. An owner of the partner can change that.`,
  )
}

export function parseBranchBasic(authorization: string): ClientCredentials[] {
  try {
    return parseBasic(authorization)
  } catch {
    throw branchRefusal()
  }
}

async function clientBranch(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  readings: ClientCredentials[],
): Promise<BranchCaller> {
  const found = await authenticateClient(context, request, reply, readings)
  if (!found) throw branchRefusal()
  if (!isInForce(found)) throw new Forbidden('This application is not approved at present.')
  const { act } = callerOf(context, request, found)
  const judgeAnew = () => judgeClient(context, request.headers.authorization, readings, found.id)
  return { branchId: found.branchId, environment: context.environment, clientId: found.id, act, judgeAnew }
}

/** A client without a secret, by a token of its own. */
async function tokenBranch(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  token: Token,
): Promise<BranchCaller> {
  const found = await context.clientTokens.find(token)
  if (!found) throw invalidToken()
  const { clientId, branchId, environment } = found
  admitSender(context, request, reply, found, token.text)
  request.who = { clientId, branchId }
  const act = actOf(context, request, `client:${clientId}`)
  const judgeAnew = async () => {
    const anew = await context.clientTokens.find(token)
    return anew && { tags: anew.tags, soundUntilMs: anew.expiresAtMs }
  }
  return { branchId, environment, clientId, act, judgeAnew }
}

export function branchRefusal(description = branchRemedy): Problem {
  const headers = { 'www-authenticate': 'Basic realm="countersign", charset="UTF-8"' }
  return new Problem(401, 'unauthorized', `The credentials are missing or wrong. ${description}`, { headers })
}

/** Done at once where this process counts for itself. */
function countUse(
  context: Context,
  known: Bearer,
  reply: FastifyReply,
  now: Date,
): Promise<void> | undefined {
  const { tokenRate, lastUse } = context
  const note = (usage?: Usage) => {
    if (usage) reply.headers(printUsage(usage))
    lastUse.ofBearer(known, now)
  }
  const usage = tokenRate.isOn ? tokenRate.count(`${known.kind}:${known.tokenId}`) : undefined
  if (usage instanceof Promise) return usage.then(note)
  note(usage)
  return undefined
}

function readCredentials(request: FastifyRequest): ClientCredentials[] {
  refuseCredentialsInQuery(request.query as Form)
  const readings = parseCredentials(request.headers.authorization, (request.body ?? {}) as Form)
  if (!readings) throw refusal()
  return readings
}

/** The client that was let in with this very header, while nothing about it has changed. */
function recallClient(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Registration | undefined {
  const { authorization } = request.headers
  const form = (request.body ?? {}) as Form
  if (authorization === undefined || form.client_id !== undefined || form.client_secret !== undefined)
    return undefined
  refuseCredentialsInQuery(request.query as Form)
  const now = context.clock.now()
  const known = context.knownClients.recall(request.raw.socket, authorization, context.environment, now)
  if (!known) return undefined
  if (!context.clientFailures.isQuiet) context.clientFailures.check(failureKey(request, known.client.id))
  return admitClient(context, request, reply, known)
}

async function authenticateClient(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  readings: ClientCredentials[],
): Promise<Registration | undefined> {
  const key = failureKey(request, readings[0]!.id)
  context.clientFailures.check(key)
  const now = context.clock.now()
  const { authorization } = request.headers
  const found = await context.knownClients.authenticate(authorization, readings, context.environment, now)
  if (found) return admitClient(context, request, reply, found)
  await countFailure(context, request, key)
  return undefined
}

/** By its secret. */
function admitClient(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  { client, secretId, secretEndsAt, secretReplacedAt }: AuthenticatedClient,
): Registration {
  const now = context.clock.now()
  demand(request, client, 'key', false, now)
  context.lastUse.ofSecret(secretId, now)
  // RFC 9745 and RFC 8594.
  if (secretReplacedAt) reply.header('deprecation', `@${Math.floor(secretReplacedAt.getTime() / 1000)}`)
  if (secretEndsAt) reply.header('sunset', secretEndsAt.toUTCString())
  return client
}

function refusal(): OAuthError {
  return new OAuthError(
    'invalid_client',
    'The client credentials are missing or wrong. Send client_id and client_secret by HTTP Basic.',
  )
}
