/** What both token endpoints share: forms of at most 8 KiB in, JSON that nobody stores out. */
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import type { Context } from '../../context.ts'
import { type IssuedTokens, printTokenResponse, TokenResponse } from '../../oauth/token-response.ts'
import type { FormFields } from '../form-fields.ts'
import type { ClientCaller } from '../gates.ts'

export const formLimitBytes = 8 * 1024

export const OAuthErrorBody = Type.Object({ error: Type.String(), error_description: Type.String() })

/** A form field: anything but a string is a field that was sent twice. */
export const field = (description: string) => Type.String({ description })

export const clientFields = {
  client_id: Type.Optional(field('Instead of HTTP Basic')),
  client_secret: Type.Optional(field('Instead of HTTP Basic')),
}

export const tokenEndpointSchema = {
  tags: ['OAuth'],
  security: [{ client: [] }],
  consumes: ['application/x-www-form-urlencoded'],
  response: { 200: TokenResponse, '4xx': OAuthErrorBody },
}

export function refreshFor(context: Context, caller: ClientCaller, form: FormFields): Promise<IssuedTokens> {
  const presented = { refreshToken: form.get('refresh_token'), scope: form.find('scope') }
  return context.refreshes.refresh(caller.client, presented, caller.by)
}

/** RFC 6749, 5.1 wants both headers. */
export function sendTokens(reply: FastifyReply, tokens: IssuedTokens): FastifyReply {
  return sendUnstored(reply.header('pragma', 'no-cache'), printTokenResponse(tokens))
}

export function sendUnstored(reply: FastifyReply, body: unknown): FastifyReply {
  reply.header('cache-control', 'no-store')
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(body)
}
