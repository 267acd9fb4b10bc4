/**
 * Every act that changes a person's power, by the entry that it leaves: what it takes, how it is done, and
 * who is told. A new act needs a row; test/security/powers.test.ts walks forms, commands, endpoints,
 * proposals and notices, and refuses those that have none.
 */
import type { Permission } from '../vocabulary/permission.ts'
import type { ProposalKind } from '../vocabulary/proposal-kind.ts'
import { keysOf } from '../vocabulary/record-of.ts'
import type { AuditAction } from './action.ts'

/**
 * The owner of the account; every administrator; or these when it is done to staff, or by staff to
 * themselves.
 */
type Audience = 'owner' | 'administrators' | 'administrators, of staff'

interface Power {
  /** What the console takes, beside a fresh sign-in with a second factor. */
  readonly permission?: Permission
  /**
   * What bounds the operator who does it there. `hands out`: they hold what they give. `over whom`: staff
   * takes giving out roles, an administrator being one. `another's partner`: they are no member of it.
   */
  readonly bound?: 'hands out' | 'over whom' | "another's partner"
  /** The kind that may take two people. */
  readonly fourEyes?: ProposalKind
  readonly console?: readonly string[]
  /** Forms for what is one's own, or a partner's own. */
  readonly own?: readonly string[]
  readonly commands?: readonly string[]
  /** What the brokerage's own systems call. */
  readonly endpoints?: readonly string[]
  /**
   * The operator who did it could come in as the person that it was done to, or as the users whom a provider
   * names.
   */
  readonly opensAccount?: true
  readonly tells: readonly Audience[]
}

const ofClient = '/console/partners/:branch/clients/:client'
const partner = { permission: 'partners.manage', bound: "another's partner" } as const
const person = { permission: 'users.manage', bound: 'over whom' } as const
const system = { permission: 'services.manage', tells: ['administrators'] } as const
const provider = { permission: 'providers.manage', tells: ['administrators'] } as const

const powers = {
  // The second makes the account as well, and sends it a link.
  'user.role_given': {
    ...{ permission: 'staff.manage', bound: 'hands out', tells: ['administrators'] },
    ...{
      console: ['/console/staff/:id/give', '/console/staff/new/create'],
      commands: ['staff give', 'user create'],
    },
  },
  'user.role_taken': {
    ...{ permission: 'staff.manage', bound: 'hands out', tells: ['administrators'] },
    ...{ console: ['/console/staff/:id/take'], commands: ['staff take'] },
  },
  // By the operator who signs in there: administrators were told of the map when it was made.
  'user.roles_provided': { tells: [] },
  'user.created': {
    ...{ permission: 'users.manage', console: ['/console/users/create'], commands: ['user create'] },
    ...{ own: ['/partner/invitation/:token/join'], opensAccount: true },
    tells: ['administrators, of staff'],
  },
  'user.enabled': {
    ...{ ...person, console: ['/console/users/:id/unlock'], commands: ['user enable'] },
    tells: ['administrators, of staff'],
  },
  'user.password_changed': {
    ...{ own: ['/account/password', '/login/reset/:token'], commands: ['user password'], opensAccount: true },
    tells: ['owner', 'administrators, of staff'],
  },
  'user.reset_sent': {
    ...{
      ...person,
      console: ['/console/users/:id/reset', '/console/users/create'],
      own: ['/login/forgotten'],
    },
    ...{ opensAccount: true, tells: ['owner', 'administrators, of staff'] },
  },
  'user.email_changed': {
    ...{ ...person, console: ['/console/users/:id/email'], commands: ['user set-email'] },
    ...{ own: ['/account/security/email', '/account/security/email/remove'], opensAccount: true },
    tells: ['owner', 'administrators, of staff'],
  },
  'second_factor.added': {
    ...{ own: ['/account/security/app', '/account/security/passkey'] },
    tells: ['owner', 'administrators, of staff'],
  },
  'second_factor.removed': {
    ...{ own: ['/account/security/app/remove', '/account/security/passkey/remove'] },
    tells: ['owner', 'administrators, of staff'],
  },
  'second_factor.reset': {
    ...{ ...person, fourEyes: 'user.reset-two-factor', console: ['/console/users/:id/factors/reset'] },
    ...{
      commands: ['user reset-second-factor'],
      opensAccount: true,
      tells: ['owner', 'administrators, of staff'],
    },
  },
  'recovery_codes.made': { own: ['/account/security/recovery'], tells: ['owner'] },
  'api_token.created': { own: ['/account/api/tokens'], commands: ['token create'], tells: ['owner'] },
  'user.account_added': { commands: ['user account'], tells: [] },
  'user.holding_set': { commands: ['user hold'], tells: [] },
  'identity.linked': { commands: ['provider link'], opensAccount: true, tells: ['administrators, of staff'] },
  'provisioning.linked': { commands: ['user link', 'user link-account'], tells: ['administrators'] },
  'provider.drafted': { ...provider, bound: 'hands out', console: ['/console/providers/new/create'] },
  'provider.added': {
    ...{ ...provider, bound: 'hands out', fourEyes: 'provider.add', opensAccount: true },
    ...{ console: ['/console/providers/:provider/enable'], commands: ['provider add', 'provider enable'] },
  },
  'provider.changed': {
    ...{ ...provider, bound: 'hands out', fourEyes: 'provider.add', opensAccount: true },
    ...{ console: ['/console/providers/:provider/change'], commands: ['provider change'] },
  },
  'provider.credential_replaced': {
    ...{
      ...provider,
      console: ['/console/providers/:provider/credential'],
      commands: ['provider credential'],
      endpoints: ['POST /admin/v1/providers/:name/credential'],
    },
  },
  'provider.removed': {
    ...{ ...provider, console: ['/console/providers/:provider/remove'], commands: ['provider remove'] },
    endpoints: ['DELETE /admin/v1/providers/:name'],
  },
  'credential.created': {
    ...{ permission: 'staff.manage', bound: 'hands out', console: ['/console/credentials/create'] },
    ...{ commands: ['credential create'], tells: ['administrators'] },
  },
  'service.created': { ...system, fourEyes: 'service.create', commands: ['service create'] },
  'service.provisioning_set': { ...system, fourEyes: 'service.widen', commands: ['service update'] },
  'service.reading_set': { ...system, fourEyes: 'service.widen', commands: ['service update'] },
  'service.secret_issued': {
    endpoints: ['POST /admin/v1/services/:name/secrets'],
    tells: ['administrators'],
  },
  'source.created': { ...system, fourEyes: 'source.create', commands: ['source create'] },
  'source.role_allowed': { ...system, fourEyes: 'source.allow-roles', commands: ['source update'] },
  // By services and sources, within what they were given.
  'provisioning.applied': {
    endpoints: [
      ...['PUT /internal/v1/customers/:externalId', 'PUT /internal/v1/accounts/:externalId'],
      'PUT /internal/v1/holdings/:customer/:account',
    ],
    tells: [],
  },
  'provisioning.merged': { tells: [] },
  'user.enabled_by_source': { tells: [] },
  'import.started': {
    ...{ permission: 'imports.manage', console: ['/console/imports/new/upload'], commands: ['import'] },
    ...{ endpoints: ['POST /internal/v1/imports'], tells: [] },
  },
  'import.allowed': {
    ...{ permission: 'imports.manage', fourEyes: 'import.removal', console: ['/console/imports/:id/remove'] },
    ...{ commands: ['import allow'], tells: [] },
  },
  'brand.activated': {
    ...{ permission: 'brand.manage', console: ['/console/brand/:site/activate'], tells: ['administrators'] },
  },
  'brand.returned': {
    ...{ permission: 'brand.manage', console: ['/console/brand/:site/return'], tells: ['administrators'] },
  },
  'keys.rotated': {
    ...{
      permission: 'keys.manage',
      fourEyes: 'keys.rotate',
      commands: ['keys rotate'],
      tells: ['administrators'],
    },
  },
  'keys.pruned': { commands: ['keys prune'], tells: ['administrators'] },
  'partner.approved': {
    ...{ ...partner, fourEyes: 'partner.approve', console: ['/console/partners/:branch/approve'] },
    ...{ commands: ['partner approve'], tells: [] },
  },
  'partner.refresh_granted': {
    ...{
      ...partner,
      fourEyes: 'partner.refresh-access',
      console: ['/console/partners/:branch/refresh/grant'],
    },
    ...{ commands: ['partner grant-refresh'], tells: [] },
  },
  'partner.member_invited': {
    ...{ own: ['/partner/:branch/members/invite', '/partner/:branch/members/resend'] },
    ...{ commands: ['partner invite'], tells: [] },
  },
  'partner.member_added': {
    own: ['/partner/invitation/:token/accept', '/partner/invitation/:token/join'],
    commands: ['partner add-member'],
    tells: [],
  },
  'partner.role_changed': {
    own: ['/partner/:branch/members/role'],
    commands: ['partner set-role'],
    tells: [],
  },
  'client.created': { own: ['/partner/:branch/clients/create'], commands: ['client create'], tells: [] },
  'client.updated': {
    ...{ ...partner, fourEyes: 'client.redirect' },
    own: ['/partner/:branch/clients/:client/update'],
    commands: ['client update'],
    tells: [],
  },
  'client.secret_issued': {
    ...{ own: ['/partner/:branch/clients/:client/rotate'], commands: ['client rotate-secret'], tells: [] },
    endpoints: ['POST /admin/v1/clients/:name/secrets'],
  },
  'client.key_added': {
    own: ['/partner/:branch/clients/:client/add-keys'],
    commands: ['client create', 'client add-key'],
    tells: [],
  },
  'client.keys_placed': {
    own: ['/partner/:branch/clients/:client/place-keys'],
    commands: ['client read-keys'],
    tells: [],
  },
  'client.certificate_set': { commands: ['client update'], tells: [] },
  'client.activated': {
    ...{ ...partner, fourEyes: 'client.activate' },
    console: [`${ofClient}/activate`],
    commands: ['client activate'],
    tells: [],
  },
  'client.scopes_set': {
    ...{ ...partner, fourEyes: 'partner.widen-scopes', console: [`${ofClient}/scopes`], tells: [] },
    commands: ['client update'],
  },
  // Account holders can no longer leave these out.
  'client.scopes_required': {
    ...{ ...partner, console: [`${ofClient}/required`], commands: ['client update'], tells: [] },
  },
  'client.scopes_granted': {
    ...{ ...partner, fourEyes: 'partner.widen-scopes', console: [`${ofClient}/scopes/grant`], tells: [] },
    commands: ['client grant-scopes'],
  },
  // Back to standard: less is demanded of the client than before.
  'client.profile_set': {
    ...{ ...partner, fourEyes: 'client.lower-profile', console: [`${ofClient}/profile`], tells: [] },
    commands: ['client profile', 'client create'],
  },
  'client.look_accepted': { ...partner, console: [`${ofClient}/look/accept`], tells: [] },
  // It depends on the scopes what it takes; the holder hears of a new application.
  'authorization.approved': { own: ['/consent'], tells: ['owner'] },
  'proposal.approved': {
    permission: 'proposals.decide',
    console: ['/console/proposals/:id/approve'],
    tells: [],
  },
} as const satisfies { readonly [Action in AuditAction]?: Power }

export type PowerfulAction = keyof typeof powers

/** Each with its row. */
export const listedPowers = keysOf(powers).map((action): [PowerfulAction, Power] => [action, powers[action]])

/** What it takes to propose, and to decide about, what may take two people. */
export function permissionOfKind(kind: ProposalKind): Permission {
  for (const [, { fourEyes, permission }] of listedPowers)
    if (fourEyes === kind && permission) return permission
  throw new Error(`No permission goes with ${kind}.`)
}

/** After these another person than its owner may have a way into an account. */
export const openingActions = listedPowers.filter(([, power]) => power.opensAccount).map(([action]) => action)
