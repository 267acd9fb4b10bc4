/** The HTTP server without a brokerage: its limits, its door, its health. */
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { openServer, type ServerOptions } from '../../src/http/server.ts'
import { type Limits, readConfig } from '../../src/settings/config.ts'

export function openBareServer(
  options: Partial<Pick<ServerOptions, 'certificateProxies' | 'log' | 'mutual' | 'tls' | 'turnedAway'>> = {},
  limits: Partial<Limits> = {},
): Promise<FastifyInstance> {
  return openServer({
    trustProxy: [],
    tls: undefined,
    log: pino({ level: 'silent' }),
    printErrorPage: () => '',
    checkReady: async () => ({}),
    requiresHttps: () => false,
    ...options,
    limits: { ...readConfig({ PATH: process.env.PATH }).limits, ...limits },
  })
}
