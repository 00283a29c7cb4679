/** Description of an operation in OpenAPI. */
import type { TSchema } from 'typebox'
import type { FaultCode } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { RequiredRoles } from '../core/roles.ts'

export interface DescribedParameter {
  readonly name: string
  readonly in: 'query' | 'path' | 'header'
  readonly description: string
  readonly schema: JsonObject
  /** Absent where there is none that is good everywhere; a function where it names a model of the catalogue. */
  readonly example?: Json | ((models: ExampleModels) => Json)
  readonly required?: boolean
  /** Of a part of the path: the regular expression of what stands there, anything without a slash where it is absent. */
  readonly pattern?: string
}

/** Slugs for the examples. */
export interface ExampleModels {
  readonly generate: string
  /** Undefined where no model embeds: the operation is described without an example of its own. */
  readonly embedding: string | undefined
}

export interface DescribedBody {
  /** True for multipart/form-data; JSON otherwise. */
  readonly form?: true
  /** True where a request may have none. */
  readonly optional?: true
  readonly schema: TSchema
  /** Whole bodies that the operation takes, by name. */
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: JsonObject }>>
}

export interface DescribedOperation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Under `/v1`, parameters in braces. */
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Roles that it is open to: stated here alone, and checked before it is called. */
  readonly roles: RequiredRoles
  readonly parameters?: readonly DescribedParameter[]
  readonly body?: DescribedBody
  readonly reply: { readonly description: string; readonly schema: TSchema; readonly status?: 200 | 201; readonly type?: string }
  /** True where `stream: true`, or a header `Accept`, makes it a stream of events. */
  readonly streams?: boolean
  /** Beside those that any call may meet. */
  readonly faults?: readonly FaultCode[]
  /** Form of its errors, where it is not that of all others. */
  readonly faultForm?: TSchema
  /** Set where its list is also sent as CSV. */
  readonly csv?: CsvList
}

/** A list as CSV: a column that a row lacks is empty. */
export interface CsvList {
  /** Of the file, without the day. */
  readonly name: string
  readonly columns: readonly string[]
  /** Columns whose texts are exact decimals, which stand as the numbers that they are. */
  readonly amounts?: readonly string[]
  /** Paging of its list, and rows of one page at most; absent where it comes whole. */
  readonly paging?: { readonly by: 'offset' | 'cursor'; readonly most: number }
}
