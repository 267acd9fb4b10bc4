/** How a user holds an account. */
import type { Scope } from '../vocabulary/scope.ts'

export const holdingRoles = ['owner', 'joint', 'custodian', 'adviser', 'viewer'] as const
export type HoldingRole = (typeof holdingRoles)[number]

/**
 * What a role may let applications do unless its holding says otherwise. A holder who acts for another person
 * moves no money unless that was said.
 */
export const scopesOfRole: Readonly<Record<HoldingRole, readonly Scope[]>> = {
  owner: ['read', 'write', 'market', 'trade', 'stream'],
  joint: ['read', 'write', 'market', 'trade', 'stream'],
  custodian: ['read', 'write', 'market', 'trade', 'stream'],
  adviser: ['read', 'market', 'stream'],
  viewer: ['read', 'market'],
}
