/** How a person has signed in, as OAuth calls it (acr: RFC 9470), the weakest first. */
export const acrs = ['password', 'second-factor', 'passkey'] as const
export type Acr = (typeof acrs)[number]

const prefix = 'urn:countersign:acr:'

/** Those of a list that there are, in its order; of others nothing is known (RFC 9470, 4). */
export function parseAcrs(text: string): Acr[] {
  const words = text.split(' ')
  return words.flatMap((word) => acrs.find((acr) => printAcr(acr) === word) ?? [])
}

export function printAcr(acr: Acr): string {
  return prefix + acr
}

export function meets(acr: Acr | undefined, demanded: Acr): boolean {
  return acr !== undefined && acrs.indexOf(acr) >= acrs.indexOf(demanded)
}
