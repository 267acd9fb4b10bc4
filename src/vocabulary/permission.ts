/**
 * What the brokerage's staff may do. A role is a fixed list of permissions; an operator with several roles
 * may do what any of them may.
 */
export const staffRoles = [
  'viewer',
  'support',
  'partner-manager',
  'webhook-operator',
  'security-officer',
  'auditor',
  'administrator',
] as const
export type StaffRole = (typeof staffRoles)[number]

/** `.see` looks, and changes nothing. */
export const permissions = [
  'overview.see',
  'partners.see',
  'partners.manage',
  'webhooks.see',
  'webhooks.operate',
  'users.see',
  'users.manage',
  'imports.manage',
  'proposals.decide',
  'audit.see',
  'audit.export',
  'settings.see',
  'staff.see',
  'staff.manage',
  'administrators.manage',
  'providers.manage',
  'keys.manage',
  'brand.manage',
  'services.manage',
] as const
export type Permission = (typeof permissions)[number]

const looking = ['overview.see', 'partners.see', 'webhooks.see'] as const

/** Every role opens the overview, which shows of everything what its reader may see. */
export const permissionsOf: Readonly<Record<StaffRole, readonly Permission[]>> = {
  viewer: [...looking, 'users.see'],
  support: [...looking, 'users.see', 'users.manage', 'proposals.decide'],
  'partner-manager': [...looking, 'partners.manage', 'proposals.decide'],
  'webhook-operator': [...looking, 'webhooks.operate'],
  'security-officer': [
    ...looking,
    ...(['users.see', 'audit.see', 'settings.see'] as const),
    ...(['staff.see', 'staff.manage', 'providers.manage', 'keys.manage', 'proposals.decide'] as const),
  ],
  auditor: [...looking, 'users.see', 'audit.see', 'audit.export', 'settings.see', 'staff.see'],
  administrator: permissions,
}

export function permits(roles: readonly StaffRole[], permission: Permission): boolean {
  return roles.some((role) => permissionsOf[role].includes(permission))
}

export function rolesWith(permission: Permission): StaffRole[] {
  return staffRoles.filter((role) => permits([role], permission))
}

export function findStaffRole(text: string | undefined): StaffRole | undefined {
  return staffRoles.find((each) => each === text)
}
