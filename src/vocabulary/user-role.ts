/**
 * Who a person is: a customer; one of the brokerage's own; a partner's colleague who made an account through an
 * invitation, and is no customer; a test holder of a partner's sandbox.
 */
export const userRoles = ['holder', 'operator', 'member', 'test'] as const
export type UserRole = (typeof userRoles)[number]
