import { z } from 'zod'
import { type IdPrefix, isId } from '../../media/base/ids.js'

/** Marks the issue of a malformed id in a path: such a resource cannot exist, so it answers 404. */
export const MALFORMED_ID = { malformedId: true } as const

/** An id in a path. Malformed ones answer 404 `not_found`, as decisions 2.1 ask. */
export function idParam(prefix: IdPrefix) {
  return z
    .string()
    .refine((text) => isId(prefix, text), { message: `not an id of that kind`, params: MALFORMED_ID })
    .meta({ examples: [`${prefix}_01JZ0000000000000000000000`] })
}

/** A timestamp column (Unix ms) as the API shows it: RFC 3339 UTC with milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** RFC 3339 UTC in results. */
export const Timestamp = z.string().meta({ format: 'date-time' })

/**
 * An open set: known values are documented, unknown ones must be expected by clients. For results
 * only; in bodies use `z.enum`.
 */
export function openEnum<const T extends string>(...known: readonly T[]) {
  return z.string().meta({ 'x-known-values': [...known] })
}

/** E.164 in canonical form; Indian numbers have 10 or 11 digits after +91. */
export const E164 = z
  .string()
  .regex(/^\+(?:91\d{10,11}|(?!91)[1-9]\d{6,14})$/, 'must be an E.164 number, for example +919876543210')

/** A whole number in a query string or path. */
export function integerParam(minimum: number, maximum: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .refine(
      (value) => value >= minimum && value <= maximum,
      `must be a whole number from ${minimum} to ${maximum}`,
    )
    .meta({ type: 'integer', minimum, maximum, pattern: undefined })
}

/** A PATCH body: every field may be left out, but not all of them. */
export function patchBody<T extends z.ZodRawShape>(shape: T) {
  return z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'at least one field is required')
}
