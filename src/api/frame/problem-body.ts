/** The two shapes of an error: of the OAuth endpoints (RFC 6749, 5.2), and of everything else. */
import { Type, text } from '../../vocabulary/schema.ts'

const described = {
  error: text('A code for programs.', 'invalid_request'),
  error_description: text(
    'What is wrong and what to do, for people. The words may change.',
    'url is missing.',
  ),
}

export const OAuthErrorBody = Type.Object(described, {
  title: 'OAuthError',
  description: 'An error of the OAuth endpoints, as RFC 6749 has it.',
})

const FieldProblemBody = Type.Object(
  {
    field: text('The field, with dots and numbers where it is nested.', 'url'),
    problem: text('What is wrong with it.', 'is missing'),
  },
  { title: 'FieldProblem', description: 'One field at fault.' },
)

export const ProblemBody = Type.Object(
  {
    ...described,
    fields: Type.Optional(
      Type.Array(FieldProblemBody, { description: 'Every field at fault, 100 at most.' }),
    ),
    moved: Type.Optional(
      Type.Array(text('A field.', 'spec.state'), {
        description: 'Of a 412: the fields that were changed since, or all where the version is of none.',
      }),
    ),
    request_id: text('Names this request in our logs; the same as `X-Request-Id`.', 'k3jf8s2a-1f'),
  },
  { title: 'Problem', description: 'Every error but those of the OAuth endpoints.' },
)
