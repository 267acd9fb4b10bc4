/** Acts for which a brokerage may want two people: one who proposes, another who decides. */
export const proposalKinds = [
  'partner.approve',
  'partner.refresh-access',
  'partner.widen-scopes',
  'provider.add',
  'keys.rotate',
  'user.reset-two-factor',
  'import.removal',
] as const
export type ProposalKind = (typeof proposalKinds)[number]
