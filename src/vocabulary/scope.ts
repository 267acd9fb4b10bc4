/** Spec 4.1: what a client may be allowed to do. The order here is the order in every answer. */
export const scopes = ['read', 'write', 'market', 'trade', 'stream'] as const
export type Scope = (typeof scopes)[number]

export const scopeMeanings: Readonly<Record<Scope, string>> = {
  read: 'Read access to account information, positions and market data',
  write: 'Write access to account data; excludes placing or updating trades',
  market: 'Market data; excludes streaming',
  trade: 'Place and manage trades',
  stream: 'Real-time streaming data',
}

/** What `parseScopes` takes, for schemas. */
export const scopePattern = `^[ ,]*(?:${scopes.join('|')})(?:[ ,]+(?:${scopes.join('|')}))*[ ,]*$`

type ParsedScopes =
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'unknown'; readonly word: string }
  | { readonly kind: 'none' }

/** Commas or spaces, mixed, in any order; duplicates are folded. */
export function parseScopes(text: string): ParsedScopes {
  const words = new Set(text.split(/[ ,]+/).filter((word) => word !== ''))
  for (const word of words) {
    if (!scopes.some((scope) => scope === word)) return { kind: 'unknown', word }
  }
  if (words.size === 0) return { kind: 'none' }
  return { kind: 'scopes', scopes: scopes.filter((scope) => words.has(scope)) }
}

export function printScopes(granted: readonly string[]): string {
  return scopes.filter((scope) => granted.includes(scope)).join(' ')
}

export function covers(granted: readonly Scope[], asked: readonly Scope[]): boolean {
  return asked.every((scope) => granted.includes(scope))
}

export function without(asked: readonly Scope[], granted: readonly Scope[]): readonly Scope[] {
  return asked.filter((scope) => !granted.includes(scope))
}

export function union(one: readonly Scope[], other: readonly Scope[]): readonly Scope[] {
  return scopes.filter((scope) => one.includes(scope) || other.includes(scope))
}
