import { z } from 'zod'
import { type IdPrefix, isId } from '../../media/base/ids.js'

/**
 * Marks the validation issue of a malformed id in a path. Such a resource cannot exist, so the response is
 * 404.
 */
export const MALFORMED_ID = { malformedId: true } as const

/** Schema of an id in a path. A malformed id results in 404 `not_found`. */
export function idParam(prefix: IdPrefix) {
  return (
    z
      .string()
      .refine((text) => isId(prefix, text), { message: `not an id of that kind`, params: MALFORMED_ID })
      // A longer text is no id, which is 404 like any other that is none.
      .meta({ maxLength: 64, examples: [`${prefix}_01JZ0000000000000000000000`] })
  )
}

/** Formats a timestamp (Unix ms) as RFC 3339 in UTC with milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** Schema of a timestamp in results: RFC 3339, UTC. */
export const Timestamp = z.string().meta({ format: 'date-time' })

/**
 * Schema of an open enumeration in results: known values are documented, and clients must accept unknown
 * ones. Use `z.enum` in bodies.
 */
export function openEnum<const T extends string>(...known: readonly T[]) {
  return z.string().meta({ 'x-known-values': [...known] })
}

/** Schema of a name. Names appear in mails to other people, so a name is a single line. */
export function oneLine(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line without control characters')
    .refine(isSeen, UNSEEN)
}

/** Schema of a name that only its owner reads. It may have several lines, but not spaces alone. */
export function nameText(max: number) {
  return z.string().min(1).max(max).refine(isSeen, UNSEEN)
}

const UNSEEN = 'must not consist of spaces alone'

function isSeen(text: string): boolean {
  return text.trim() !== ''
}

/** Schema of a canonical E.164 number. Indian numbers have 10 or 11 digits after +91. */
export const E164 = z
  .string()
  .regex(/^\+(?:91\d{10,11}|(?!91)[1-9]\d{6,14})$/, 'must be an E.164 number, for example +919876543210')

/** Schema of an integer in a query string or path. */
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

/** Schema of a PATCH body: every field is optional, but at least one is required. */
export function patchBody<T extends z.ZodRawShape>(shape: T) {
  return z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'at least one field is required')
    .meta({ minProperties: 1 })
}
