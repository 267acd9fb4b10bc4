import type { MemberRole } from './member-role.ts'

/** What each role may do, for the members who give or get it. */
export const roleWords: Readonly<Record<MemberRole, { readonly title: string; readonly text: string }>> = {
  viewer: { title: 'a viewer', text: 'Sees everything and changes nothing.' },
  developer: { title: 'a developer', text: 'Works on clients, secrets, webhooks, test events and replays.' },
  owner: {
    title: 'an owner',
    text: 'Does everything: also members, their roles, and the application itself.',
  },
}
