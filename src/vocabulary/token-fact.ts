/**
 * What introspection can tell a service of a token beside what every one learns: that it is active, its
 * scopes, its times, whose it is and for which resources.
 */
export const tokenFacts = [
  ...(['username', 'client', 'partner', 'grant', 'accounts', 'customer', 'sign-in'] as const),
] as const
export type TokenFact = (typeof tokenFacts)[number]

/** What a service learns for which nothing else was said. */
export const usualFacts: readonly TokenFact[] = ['username', 'client', 'accounts']
