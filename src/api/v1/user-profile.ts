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
  async handle(context, bearer, _request, reply) {
    const profile = await context.profiles.find(bearer.userId, bearer.accountNumbers)
    reply.header('cache-control', 'no-store')
    return reply.send(profile)
  },
}
