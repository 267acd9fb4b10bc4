/**
 * Seven cookies: the session, a visit (the anchor of form tokens before sign-in), a step (the password was
 * right, the second factor is awaited), the device (proof that a user has signed in here before), what a form
 * is kept under while a user signs in, by what a browser is known that comes from the live site
 * (sign-in/switch.ts), and what was just done until it is told (frame/flash-message.ts).
 * `__Host-` and Secure wherever the site is https. Named by environment, because browsers do not keep the
 * cookies of two ports apart. A seventh names the zone that moments are told in: a script sets it
 * (public/times.js), and it says nothing but that, on both sites.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { minute, second } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { randomLetters } from '../../crypto/random.ts'
import { findTimeZone, type TimeZone, utc } from '../../text/time-zone.ts'
import { knownDeviceMs } from '../../users/known-device.ts'

type CookieKind = 'session' | 'visit' | 'step' | 'device' | 'kept' | 'told' | 'switch'

/** The others end with the browser. */
const lifetimes: Partial<Record<CookieKind, number>> = {
  device: knownDeviceMs,
  kept: 30 * minute,
  told: 5 * minute,
  switch: 5 * minute,
}

export function readCookie(context: Context, request: FastifyRequest, kind: CookieKind): string | undefined {
  return request.cookies[nameOf(context, kind)]
}

export function setCookie(context: Context, reply: FastifyReply, kind: CookieKind, value: string): void {
  const lifetime = lifetimes[kind]
  const options = { ...attributes(context), ...(lifetime !== undefined && { maxAge: lifetime / second }) }
  reply.setCookie(nameOf(context, kind), value, options)
}

export function clearCookie(context: Context, reply: FastifyReply, kind: CookieKind): void {
  reply.clearCookie(nameOf(context, kind), attributes(context))
}

/** The visit's secret, made on the first page that has a form. */
export function ensureVisit(context: Context, request: FastifyRequest, reply: FastifyReply): string {
  return readSecret(context, request, 'visit') ?? renewVisit(context, reply)
}

/** Undefined when it is none of ours. */
function readSecret(context: Context, request: FastifyRequest, kind: CookieKind): string | undefined {
  const known = readCookie(context, request, kind)
  return known !== undefined && /^[A-Za-z0-9]{43}$/.test(known) ? known : undefined
}

/** What a form of this browser is kept under. */
export function readKeeping(context: Context, request: FastifyRequest): string | undefined {
  return readSecret(context, request, 'kept')
}

export function ensureKeeping(context: Context, request: FastifyRequest, reply: FastifyReply): string {
  const key = readKeeping(context, request) ?? randomLetters(43)
  setCookie(context, reply, 'kept', key)
  return key
}

export function readSwitching(context: Context, request: FastifyRequest): string | undefined {
  return readSecret(context, request, 'switch')
}

/** The same for all tabs that set out at once. */
export function ensureSwitching(context: Context, request: FastifyRequest, reply: FastifyReply): string {
  const key = readSwitching(context, request) ?? randomLetters(43)
  setCookie(context, reply, 'switch', key)
  return key
}

/** The form tokens of pages that were shown before are worth nothing from here on. */
export function renewVisit(context: Context, reply: FastifyReply): string {
  const fresh = randomLetters(43)
  setCookie(context, reply, 'visit', fresh)
  return fresh
}

function isSecure({ baseUrl }: Context): boolean {
  return baseUrl.startsWith('https:')
}

function nameOf(context: Context, kind: CookieKind): string {
  const prefix = isSecure(context) ? '__Host-' : ''
  return `${prefix}countersign-${context.environment}-${kind}`
}

/** UTC where no script runs, and for what is no zone. */
export function readZone(context: Context, request: FastifyRequest): TimeZone {
  return findTimeZone(request.cookies[`${isSecure(context) ? '__Host-' : ''}countersign-zone`] ?? '') ?? utc
}

/** Lax, because people arrive from the partner's site by a link. */
function attributes(context: Context) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(context) } as const
}
