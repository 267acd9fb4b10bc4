/** Whom the gateway serves: partners and users. */
import type { PageRoute } from '../route.ts'
import type { Params } from '../frame/visit.ts'
import { whenVisited } from '../frame/when-visited.ts'
import { operatorForm, operatorPage } from './operator.ts'

const { activateClient, declineScopes, grantScopes, setMost, suspendClient } = whenVisited(
  () => import('./client-acts.ts'),
)
const { approvePartner, grantRefresh, showPartner, suspendPartner, withdrawRefresh } = whenVisited(
  () => import('./partner.ts'),
)
const { showPartners } = whenVisited(() => import('./partners.ts'))
const { showUser } = whenVisited(() => import('./user.ts'))
const {
  closeSession,
  closeSessions,
  liftThrottle,
  lockUser,
  resetFactors,
  revokeApplication,
  revokeToken,
  unlockUser,
} = whenVisited(() => import('./user-acts.ts'))
const { showUsers } = whenVisited(() => import('./users.ts'))

const partner = ({ branch }: Params) => `/console/partners/${branch}`
const user = ({ id }: Params) => `/console/users/${id}`

export const peopleRoutes: readonly PageRoute[] = [
  operatorPage('/console/partners', showPartners),
  operatorPage('/console/partners/:branch', showPartner),
  operatorForm('/console/partners/:branch/approve', partner, approvePartner),
  operatorForm('/console/partners/:branch/suspend', partner, suspendPartner),
  operatorForm('/console/partners/:branch/refresh/grant', partner, grantRefresh),
  operatorForm('/console/partners/:branch/refresh/withdraw', partner, withdrawRefresh),
  operatorForm('/console/partners/:branch/clients/:client/suspend', partner, suspendClient),
  operatorForm('/console/partners/:branch/clients/:client/activate', partner, activateClient),
  operatorForm('/console/partners/:branch/clients/:client/scopes', partner, setMost),
  operatorForm('/console/partners/:branch/clients/:client/scopes/grant', partner, grantScopes),
  operatorForm('/console/partners/:branch/clients/:client/scopes/decline', partner, declineScopes),
  operatorPage('/console/users', showUsers),
  operatorPage('/console/users/:id', showUser),
  operatorForm('/console/users/:id/lock', user, lockUser),
  operatorForm('/console/users/:id/unlock', user, unlockUser),
  operatorForm('/console/users/:id/sessions/close', user, closeSession),
  operatorForm('/console/users/:id/sessions/close/all', user, closeSessions),
  operatorForm('/console/users/:id/tokens/revoke', user, revokeToken),
  operatorForm('/console/users/:id/applications/revoke', user, revokeApplication),
  operatorForm('/console/users/:id/factors/reset', user, resetFactors),
  operatorForm('/console/users/:id/throttle/lift', user, liftThrottle),
]
