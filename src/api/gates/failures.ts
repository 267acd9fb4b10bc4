/** Failed authentications are counted by client and address, and by address. */
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { subnetOf } from '../../network/subnet.ts'
import { cut } from '../../text/cut.ts'

export async function countFailure(context: Context, request: FastifyRequest, key: string): Promise<void> {
  await context.clientFailures.count(key)
  await context.addressFailures.countFrom(request.ip)
}

export function failureKey(request: FastifyRequest, clientId: string): string {
  return `${subnetOf(request.ip)} ${cut(clientId, 64)}`
}
