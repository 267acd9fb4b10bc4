/**
 * The deliveries as OpenAPI 3.1 has them: requests that the gateway makes and a partner answers. From the
 * catalogue, as the portal's page of it.
 */
import type { TSchema } from 'typebox'
import type { Tag } from '../../http/described-route.ts'
import { isPublishedKind } from '../../webhooks/events/kind.ts'
import { retryWords } from '../../webhooks/outbound/retry-schedule.ts'
import {
  type CatalogueKind,
  describeEvents,
  describeHeaders,
} from '../../webhooks/subscriptions/catalogue.ts'

/**
 * Of its own: generators make a class of a tag, and one of calls must not be overwritten by one of what is
 * received.
 */
export const receiverTag = 'Receiver' satisfies Tag

type Place = (schema: TSchema) => object

export function describeWebhooks(place: Place): Record<string, object> {
  return Object.fromEntries(
    describeEvents(1).map((each) => [each.kind, { post: describeDelivery(each, place) }]),
  )
}

/**
 * The same as callbacks of whatever registers a URL, for the kinds that no request has: generators that leave
 * out what no path leads to would leave out their payloads.
 */
export function describeCallbacks(place: Place): Record<string, object> {
  const unsent = describeEvents(1).filter(({ kind }) => !isPublishedKind(kind))
  return Object.fromEntries(
    unsent.map((each) => {
      const { operationId, ...delivery } = describeDelivery(each, place)
      return [
        each.kind,
        { '{$request.body#/url}': { post: { operationId: `${operationId}Event`, ...delivery } } },
      ]
    }),
  )
}

function describeDelivery({ kind, title, meaning, when, schema, actions }: CatalogueKind, place: Place) {
  const words = actions.map(({ action, meaning: means }) => `- \`${action}\`: ${means}`)
  const examples = actions.map(({ action, meaning: summary, example }) => [
    action,
    { summary, value: example },
  ])
  return {
    operationId: `receive${title.replaceAll(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: `${title}: ${actions.map(({ action }) => action).join(', ')}`,
    description: `${meaning} ${when}\n\n${words.join('\n')}`,
    tags: [receiverTag],
    security: [],
    parameters: describeHead(kind),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: place(schema), examples: Object.fromEntries(examples) } },
    },
    responses,
  }
}

/**
 * The type of the body is not a parameter: OpenAPI has a place of its own for it. No test event is made of an
 * authorization.
 */
function describeHead(kind: CatalogueKind['kind']): object[] {
  const told = describeHeaders().filter(
    ({ name }) => name !== 'content-type' && !(name === 'x-webhook-test' && kind === 'AUTHORIZATION'),
  )
  return told.map(({ name, meaning, example, isSometimes }) => ({
    ...{
      name,
      in: 'header',
      required: !isSometimes,
      description: meaning,
      schema: { type: 'string' },
      example,
    },
  }))
}

const responses = {
  '2XX': { description: 'Any 2xx within ten seconds: it is delivered.' },
  '410': { description: 'The webhook is disabled, and gets nothing more until it is resumed.' },
  '429': {
    description:
      'Nothing is sent to it until `Retry-After` has passed; then it is sent again. 503 means the same.',
  },
  default: {
    description: `Anything else, or no answer: it is sent again, with up to ${retryWords.all}: after ${retryWords.waits}, each ${retryWords.jitter}.`,
  },
}
