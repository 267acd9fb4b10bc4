/** Rows of the table of settings that say how people sign in. */
import * as kind from './kinds.ts'
import { always, setting } from './setting.ts'

export const signIn = always({
  holderSignIn: setting(
    'HOLDER_SIGN_IN',
    'both',
    kind.oneOf(['provider', 'password', 'both']),
    "how holders sign in: provider (the brokerage's identity providers), password, or both",
  ),
  staffSessionHours: setting(
    'STAFF_SESSION_HOURS',
    '8',
    kind.integer(1, 12),
    'hours after which staff who signed in at an identity provider sign in there anew, with the roles that it gives them then',
  ),
  demoProvider: setting(
    'DEMO_IDP',
    'false',
    kind.flag,
    'true starts an identity provider beside the demo data, on the port after the sandbox: sign-in there can be tried at once',
  ),
  providerNetworks: setting(
    'PROVIDER_NETWORKS',
    '',
    kind.networks,
    'private networks (addresses or CIDR ranges) in which identity providers may be; others must be public',
  ),
  providerAuthority: setting(
    'PROVIDER_CA_FILE',
    '',
    kind.optional(kind.authorities),
    'certificate authorities (PEM) that identity providers may use beside the usual ones',
  ),
})
