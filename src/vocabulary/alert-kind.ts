/** What partners and operators are told of: by mail, or at an address of their own. */
export const partnerAlertKinds = ['failing', 'recovered', 'disabled', 'expiring'] as const

export const staffAlertKinds = [...partnerAlertKinds, 'lag', 'provider', 'audit'] as const
export type AlertKind = (typeof staffAlertKinds)[number]
