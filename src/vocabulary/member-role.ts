/** What a member may do for a partner. Each role may do what those before it may. */
export const memberRoles = ['viewer', 'developer', 'owner'] as const
export type MemberRole = (typeof memberRoles)[number]

export function reaches(role: MemberRole, least: MemberRole): boolean {
  return memberRoles.indexOf(role) >= memberRoles.indexOf(least)
}

export function findMemberRole(text: string | undefined): MemberRole | undefined {
  return memberRoles.find((each) => each === text)
}
