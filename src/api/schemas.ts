/** Parts of the schemas of replies, and those that several operations share. */
import { type TSchema, Type } from 'typebox'

type Field = Parameters<typeof Type.Optional>[0]
const described = (description?: string) => (description === undefined ? {} : { description })
export const maybe = <T extends Field>(schema: T) => Type.Union([schema, Type.Null()])
export const text = (description?: string) => Type.String(described(description))
export const whole = (description?: string) => Type.Integer(described(description))
export const count = (description?: string) => Type.Integer({ minimum: 0, ...described(description) })
export const amount = (description?: string) => Type.Number(described(description))
export const flag = (description?: string) => Type.Boolean(described(description))
export const texts = () => Type.Array(Type.String())
export const data = (schema: TSchema) => Type.Object({ data: schema })

export const deleted = Type.Object({ deleted: Type.Literal(true) })

export const forecast = Type.Object({
  per_day: amount('USD a day, the mean of the last seven days, or of those since the first request in them.'),
  basis_days: amount('Days that the mean is of.'),
  used_at_end: maybe(amount('USD at the end of the window, at this pace.')),
  runs_out_at: maybe(Type.String({ description: 'When nothing is left, at this pace; null: not before the window ends.' })),
})

export const messagesFault = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String(), error_type: Type.Optional(Type.String()) }),
    request_id: maybe(Type.String()),
  },
  { description: 'An error in the messages format.' },
)

export const fault = Type.Object(
  {
    error: Type.Object({
      code: whole('The HTTP status.'),
      message: text('What is wrong; begins with the name of a bad field.'),
      type: text('Kind of the error, such as `invalid_request_error` or `rate_limit_error`.'),
      param: maybe(Type.String({ description: 'Path of the field that is at fault; null where it is none.' })),
      metadata: Type.Optional(
        Type.Object({
          error_type: Type.Optional(Type.String()),
          field: Type.Optional(Type.String()),
          previous_errors: Type.Optional(
            Type.Array(
              Type.Object({
                provider: text(),
                code: text('Such as `upstream_limited`.'),
                status: maybe(Type.Integer({ description: 'Status that the provider sent; null where it sent none.' })),
              }),
              { description: 'The failures of the providers that were called before the last one.' },
            ),
          ),
        }),
      ),
      availability: Type.Optional(
        Type.Object(
          {
            code: text(
              '`model_not_found`: no such model. `wrong_endpoint`: the model is of another kind. `no_endpoints`: the model has none. `constraint_filtered`: a preference or a field of the request left none; `constraint` names it. `privacy_restricted`: what is required of the data left none. `model_unavailable_upstream`: the provider does not have the model. `capacity_exhausted`: all are limited. `temporarily_unavailable`: all failed, or none could be tried.',
            ),
            retryable: Type.Boolean({ description: 'False: the same request fails again.' }),
            requested_models: Type.Optional(Type.Array(Type.String())),
            docs_url: text('Where this is explained.'),
            retry_after: Type.Optional(amount('Seconds to wait.')),
            affected_providers: Type.Optional(Type.Array(Type.String())),
            excluded_by: Type.Optional(Type.Array(Type.String())),
            fallback_models: Type.Optional(Type.Array(Type.String(), { description: 'Models that could serve it.' })),
            constraint: Type.Optional(Type.Object({ field: text(), detail: text() })),
          },
          { description: 'Why nothing could serve the request.' },
        ),
      ),
    }),
  },
  { description: 'An error.' },
)
