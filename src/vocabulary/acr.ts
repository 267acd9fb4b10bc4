/** How a person has signed in, as OAuth calls it (acr: RFC 9470), the weakest first. */
export const acrs = ['password', 'second-factor', 'passkey'] as const
export type Acr = (typeof acrs)[number]

const prefix = 'urn:countersign:acr:'

export function printAcr(acr: Acr): string {
  return prefix + acr
}
