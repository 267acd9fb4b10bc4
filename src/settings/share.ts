/** What one of several processes has of the limits of a machine, and what they need together. */
import type { Config } from './config.ts'

/** With fewer, requests and deliveries of a process wait for each other. */
const leastConnections = 4
/** Beside its pools a process listens for changes and for work. */
const listeners = 2
/** The parent's own. */
const parentConnections = 2

export function shareOf(config: Config): Config {
  const { processes, databaseConnections, streamConnections, limits } = config
  if (processes === 1) return config
  const share = (whole: number, least: number) => Math.max(least, Math.floor(whole / processes))
  return {
    ...config,
    databaseConnections: share(databaseConnections, Math.min(databaseConnections, leastConnections)),
    streamConnections: share(streamConnections, 1),
    limits: {
      ...limits,
      connections: Math.ceil(limits.connections / processes),
      passwordChecksAtOnce: share(limits.passwordChecksAtOnce, 1),
    },
  }
}

/** Connections to PostgreSQL that a node may come to hold. */
export function wantedConnections(config: Config): number {
  const { processes } = config
  const { databaseConnections, streamConnections } = shareOf(config)
  const wanted = processes * (databaseConnections + streamConnections + listeners)
  return processes === 1 ? wanted : wanted + parentConnections
}
