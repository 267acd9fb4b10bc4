/** The API for machines, on one screen: method, path, who may call, what happens. */
import { anyone, bearer, client, clientOrService } from './gates.ts'
import { type Route, route } from './route.ts'
import { accessToken } from './v1/access-token.ts'
import { introspect } from './v1/introspect.ts'
import { metadata } from './v1/metadata.ts'
import { refreshToken } from './v1/refresh-token.ts'
import { revoke } from './v1/revoke.ts'
import { userProfile } from './v1/user-profile.ts'

export const apiRoutes: readonly Route[] = [
  route('GET', '/.well-known/oauth-authorization-server', anyone, metadata),
  route('POST', '/v1/oauth/accesstoken', client, accessToken),
  route('POST', '/v1/oauth/refreshtoken', client, refreshToken),
  route('POST', '/v1/oauth/revoke', client, revoke),
  route('POST', '/v1/oauth/introspect', clientOrService, introspect),
  route('GET', '/v1/user/profile', bearer('read'), userProfile),
]
