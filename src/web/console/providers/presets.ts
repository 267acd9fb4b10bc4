/** What the form begins with for the providers that most brokerages have: their own words for what it asks. */
import type { providerKinds } from '../../../identity/provider-draft.ts'
import type { ChangeName } from './forms.ts'

type Kind = (typeof providerKinds)[number]

interface Preset {
  readonly label: string
  /** Where its capitals stand is the brokerage's own part. */
  readonly issuer: string
  readonly values: Readonly<Partial<Record<ChangeName, string>>>
  /** What its staff get their roles by. */
  readonly rolesClaim?: string
  /** What has to be set up there. */
  readonly advice: string
}

export const presets: ReadonlyMap<string, Preset> = new Map(
  Object.entries({
    keycloak: {
      label: 'Keycloak',
      issuer: 'https://HOST/realms/REALM',
      // “Log out all” there names one session, and means all of that person's.
      values: { scopes: 'profile email', 'logout-ends': 'person' },
      rolesClaim: 'roles',
      advice:
        'A client with client authentication on and the standard flow. For roles, add a mapper that puts them into the ID token under the claim roles.',
    },
    entra: {
      label: 'Microsoft Entra ID',
      issuer: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
      values: { scopes: 'profile email' },
      rolesClaim: 'roles',
      advice:
        'An app registration of the platform “Web” with a client secret. App roles arrive in the claim roles; assign them to groups.',
    },
    okta: {
      label: 'Okta',
      issuer: 'https://DOMAIN.okta.com',
      values: { scopes: 'profile email', 'strong-amr': 'mfa' },
      rolesClaim: 'groups',
      advice:
        'An app integration “OIDC, Web Application”. For roles, add a groups claim to the ID token with a filter. With a custom authorization server the issuer ends in /oauth2/ and its name.',
    },
    auth0: {
      label: 'Auth0',
      issuer: 'https://TENANT.REGION.auth0.com/',
      values: { scopes: 'profile email', 'strong-amr': 'mfa' },
      rolesClaim: 'https://NAMESPACE/roles',
      advice:
        'A regular web application; the slash at the end of the issuer belongs to it. Roles take an Action that adds a claim under an address of yours.',
    },
    google: {
      label: 'Google',
      issuer: 'https://accounts.google.com',
      values: { scopes: 'profile email' },
      advice:
        'An OAuth client of the type “Web application”, with the user type “Internal” for staff. It tells no groups: roles are given by hand.',
    },
  }),
)

/** What stands in the form before anything is typed. */
export function printPreset(preset: Preset, kind: Kind) {
  return {
    ...preset.values,
    label: preset.label,
    issuer: preset.issuer,
    ...(kind === 'staff' && { 'roles-claim': preset.rolesClaim ?? '' }),
  }
}
