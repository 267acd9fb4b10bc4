/** Live and sandbox are two faces of one service; nothing issued by one is accepted by the other. */
export const environments = ['live', 'sandbox'] as const
export type Environment = (typeof environments)[number]

export function isEnvironment(text: string): text is Environment {
  return (environments as readonly string[]).includes(text)
}
