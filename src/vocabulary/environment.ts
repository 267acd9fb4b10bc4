/** Live and sandbox are two faces of one service; nothing issued by one is accepted by the other. */
export const environments = ['live', 'sandbox'] as const
export type Environment = (typeof environments)[number]

/** Where each of them is. */
export type SiteAddresses = Readonly<Record<Environment, string>>

/** And the internal listener, which serves both. */
export interface NodeAddresses extends SiteAddresses {
  readonly internal: string
}

export function isEnvironment(text: string): text is Environment {
  return environments.some((each) => each === text)
}
