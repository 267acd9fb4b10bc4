/** The device cookie: sealed proof that a user has signed in from this browser before. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { readCookie, setCookie } from './cookies.ts'

const purpose = 'device-cookie'

export function knownDevice(context: Context, request: FastifyRequest, username: string): string | undefined {
  const sealed = readCookie(context, request, 'device')
  const text = sealed === undefined ? undefined : context.vault.open(purpose, Buffer.from(sealed, 'base64url'))
  const [owner, device] = text?.split('\n') ?? []
  return owner === username.toLowerCase() ? device : undefined
}

export function rememberDevice(
  context: Context,
  reply: FastifyReply,
  known: string | undefined,
  username: string,
): void {
  const device = known ?? crypto.randomUUID()
  setCookie(context, reply, 'device', context.vault.seal(purpose, `${username}\n${device}`).toString('base64url'))
}
