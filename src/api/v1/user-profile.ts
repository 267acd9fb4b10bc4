/** Spec 4.5: GET /v1/user/profile. */
import type { Bearer } from '../../oauth/bearer.ts'
import { Profile } from '../../users/profile.ts'
import { ProblemBody } from '../problem-body.ts'
import type { Endpoint } from '../route.ts'

export const userProfile: Endpoint<Bearer> = {
  schema: {
    summary: 'The profile and the accounts of the user behind the token',
    tags: ['User'],
    security: [{ bearer: ['read'] }],
    response: { 200: Profile, '4xx': ProblemBody },
  },
  handle(context, bearer, _request, reply) {
    reply.header('cache-control', 'no-store')
    reply.type('application/json; charset=utf-8')
    const profile = context.profiles.find(bearer)
    return typeof profile === 'string' ? reply.send(profile) : profile.then((text) => reply.send(text))
  },
}
