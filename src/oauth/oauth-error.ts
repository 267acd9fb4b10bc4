import { Problem } from '../problem.ts'

/** The closed list of RFC 6749 (5.2 and 4.1.2.1), RFC 7009 and RFC 6750. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'

export class OAuthError extends Problem {
  declare readonly code: OAuthErrorCode

  constructor(code: OAuthErrorCode, description: string) {
    const challenge = { 'www-authenticate': 'Basic realm="countersign", charset="UTF-8"' }
    super(
      code === 'invalid_client' ? 401 : 400,
      code,
      description,
      code === 'invalid_client' ? { headers: challenge } : {},
    )
  }
}

/** What a partner hears of an application that its holder has paused: nothing is lost, and trying again is no use. */
export const pausedText = 'The user has paused this application. It works again when the user resumes it.'

export const noAccountText = 'The user no longer holds any of the accounts that this access was given for.'

/** All that was approved was taken back, by the user or by the brokerage. */
export const noScopeText = 'Nothing of what was approved is allowed to this application any more.'

/** RFC 6750, 3: what a resource answers about the bearer token it was shown, or was not. */
export class BearerError extends Problem {
  constructor(
    status: 401 | 403,
    code: 'unauthorized' | 'invalid_token' | 'insufficient_scope',
    description: string,
    scope?: string,
  ) {
    const parameters = ['realm="countersign"']
    if (code !== 'unauthorized')
      parameters.push(`error="${code}"`, `error_description="${description.replace(/["\\]/g, "'")}"`)
    if (scope !== undefined) parameters.push(`scope="${scope}"`)
    super(status, code, description, { headers: { 'www-authenticate': `Bearer ${parameters.join(', ')}` } })
  }
}
