import type { StaffRole } from './permission.ts'

/** What each role may do, for the operators who give or get it. */
export const staffRoleWords: Readonly<Record<StaffRole, { readonly title: string; readonly text: string }>> =
  {
    viewer: { title: 'Viewer', text: 'Sees partners, webhooks and people. Changes nothing.' },
    support: {
      title: 'Support',
      text: 'Helps people: creates them, locks, signs out, resets passwords and two-factor sign-in.',
    },
    'partner-manager': {
      title: 'Partner manager',
      text: 'Decides on partners, their clients, scopes and refresh access.',
    },
    'webhook-operator': { title: 'Webhook operator', text: 'Pauses, probes and recovers webhooks.' },
    'security-officer': {
      title: 'Security officer',
      text: 'Looks after staff roles, identity providers, keys and settings.',
    },
    auditor: {
      title: 'Auditor',
      text: 'Reads partners, webhooks, people, staff, settings and the audit log, and exports it. Changes nothing.',
    },
    administrator: { title: 'Administrator', text: 'Does everything, and makes other administrators.' },
  }
