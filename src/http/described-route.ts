/**
 * What a route says of itself. Its schemas judge what comes in, and all of it becomes the document of the
 * interface.
 */
import type { HTTPMethods } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import type { ErrorShape } from './addresses.ts'

export type Tag =
  | 'Discovery'
  | 'OAuth'
  | 'User'
  | 'Webhooks'
  | 'Test webhooks'
  | 'Deliveries'
  | 'Events'
  | 'Receiver'
  | 'Internal'
  | 'Administration'

/** No name is a word that generators use themselves. */
export type SchemeName = 'clientBasic' | 'serviceBasic' | 'personalToken' | 'oauth2' | 'adminCredential'

export type HeaderName =
  | 'Allow'
  | 'Deprecation'
  | 'ETag'
  | 'Location'
  | 'Preference-Applied'
  | 'Retry-After'
  | 'Sunset'
  | 'WWW-Authenticate'
  | 'X-Ratelimit-Allowed'
  | 'X-Ratelimit-Available'
  | 'X-Ratelimit-Expiry'
  | 'X-Ratelimit-Used'
  | 'X-Request-Id'

export interface OperationSchema {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly [Tag]
  /** Any one of them lets in; none at all means that the route is public. */
  readonly security: readonly Readonly<Partial<Record<SchemeName, readonly string[]>>>[]
  readonly params?: TObject
  readonly querystring?: TObject
  readonly headers?: TObject
  readonly body?: TSchema
  /** Of success. Refusals follow from the row, and are printed without a schema. */
  readonly response: Readonly<Record<number, TSchema>>
  /** What the same answer is as a stream of events; the same schema where it is nothing else. */
  readonly stream?: TSchema
  /** The same for lines of JSON. */
  readonly lines?: TSchema
  /** What the same answer is, signed (RFC 9701). */
  readonly signed?: TSchema
  readonly answerHeaders?: readonly HeaderName[]
  /** 409: there are too many, or it is not the moment. */
  readonly mayConflict?: true
  /** 404, beside what its path names: a parameter names something too. */
  readonly mayMiss?: true
  /** 412: it is not as the caller has last seen it. */
  readonly mayHaveMoved?: true
  /** What a webhook that is made here is sent. */
  readonly makesWebhook?: true
  /** 403, beside what its gate refuses: the caller is not the one for this. */
  readonly mayForbid?: true
}

/** A form, JSON, or lines of JSON without end. */
export type BodyKind = 'form' | 'json' | 'lines'

export interface DescribedRoute {
  /** Given where the brokerage's own programs call. */
  readonly environmentOf?: unknown
  readonly method: HTTPMethods
  readonly path: string
  readonly errors: ErrorShape | undefined
  readonly takes: BodyKind
  readonly schema: OperationSchema
}
