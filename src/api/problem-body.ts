import Type from 'typebox'

/** The one error shape of everything but the OAuth endpoints. */
export const ProblemBody = Type.Object({
  error: Type.String(),
  error_description: Type.String(),
  fields: Type.Optional(Type.Array(Type.Object({ field: Type.String(), problem: Type.String() }))),
  request_id: Type.String(),
})
