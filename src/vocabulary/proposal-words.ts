import type { ProposalKind } from './proposal-kind.ts'

/** What is proposed; whom it is done to stands after it. */
export const proposalWords: Readonly<Record<ProposalKind, string>> = {
  'partner.approve': 'approve partner',
  'partner.refresh-access': 'grant refresh access to',
  'partner.widen-scopes': 'widen the scopes of client',
  'client.lower-profile': 'lower the profile of client',
  'provider.add': 'add identity provider',
  'keys.rotate': 'rotate the sealing keys',
  'user.reset-two-factor': 'reset two-factor sign-in of',
  'import.removal': 'remove what is missing in',
  'client.activate': 'activate client',
  'client.redirect': 'change the callback URL of client',
  'service.create': 'register service',
  'service.widen': 'let more be done or learned by service',
  'source.create': 'name source',
  'source.allow-roles': 'let roles of the database speak for source',
}
