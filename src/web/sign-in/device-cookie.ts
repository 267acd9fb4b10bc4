/**
 * The device cookie: sealed proof that a user has signed in from this browser before. What it is worth is
 * judged with the user at hand.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { KnownDevice } from '../../users/known-device.ts'
import { readCookie, setCookie } from '../frame/cookies.ts'

const purpose = 'known-device'

export function readDevice(context: Context, request: FastifyRequest): KnownDevice | undefined {
  const sealed = readCookie(context, request, 'device')
  const text =
    sealed === undefined ? undefined : context.vault.open(purpose, Buffer.from(sealed, 'base64url'))
  return text === undefined ? undefined : (JSON.parse(text) as KnownDevice)
}

export function rememberDevice(context: Context, reply: FastifyReply, device: KnownDevice): void {
  setCookie(
    context,
    reply,
    'device',
    context.vault.seal(purpose, JSON.stringify(device)).toString('base64url'),
  )
}
