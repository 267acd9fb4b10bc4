/** Spec 4.5: GET /v1/user/profile. */
import type { Bearer } from '../../oauth/bearer.ts'
import { Profile } from '../../users/profile.ts'
import type { Endpoint } from '../frame/route.ts'

export const userProfile: Endpoint<Bearer> = {
  schema: {
    operationId: 'getProfile',
    summary: 'The profile and the accounts of the user behind the token',
    description:
      'Needs the scope `read`. Lists those accounts that the account holder shared with the application.',
    tags: ['User'],
    security: [{ oauth2: ['read'] }, { personalToken: [] }],
    response: { 200: Profile },
  },
  handle(context, bearer, _request, reply) {
    reply.header('cache-control', 'no-store')
    reply.type('application/json; charset=utf-8')
    const profile = context.profiles.get(bearer)
    return typeof profile === 'string' ? reply.send(profile) : profile.then((text) => reply.send(text))
  },
}
