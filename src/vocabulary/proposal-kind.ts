/** Acts of the console for which a brokerage may want two people: one who proposes, another who decides. */
export const fourEyesKinds = [
  'partner.approve',
  'partner.refresh-access',
  'partner.widen-scopes',
  'client.lower-profile',
  'provider.add',
  'keys.rotate',
  'user.reset-two-factor',
  'import.removal',
] as const
type FourEyesKind = (typeof fourEyesKinds)[number]

/** With what programs propose beside: they always do, and nobody else does. */
export const proposalKinds = [
  ...fourEyesKinds,
  'client.activate',
  'client.redirect',
  'service.create',
  'service.widen',
  'source.create',
  'source.allow-roles',
] as const
export type ProposalKind = (typeof proposalKinds)[number]

/** Of those that the brokerage has chosen. */
export function isAmong(chosen: readonly FourEyesKind[], kind: ProposalKind): boolean {
  return chosen.some((each) => each === kind)
}
