import { z } from 'zod'
import type { Actor } from '../api/actor.js'
import type { Author } from './suppression-store.js'

/** Indian numbers of 10 digits, and of 11 in the series 1800 and 1860. */
export const INDIAN_NUMBER = /^\+91\d{10,11}$/
export const IndianNumber = z
  .string()
  .regex(INDIAN_NUMBER, 'must be +91 and 10 or 11 digits, for example +919876543210')
  .refine((e164) => !e164.startsWith('+910'), 'must not have a zero after +91')

/** Result of a request of many rows, of which each counts on its own. */
export const Bulk = z.object({
  imported: z.int(),
  rejected: z.array(z.object({ index: z.int(), e164: z.string(), code: z.string(), message: z.string() })),
})

export type RejectedRow = z.input<typeof Bulk>['rejected'][number]

/** Schema of a row as it arrives. Its values are checked by row, so that a bad one does not refuse the others. */
export function ReceivedRow<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject({ e164: z.string().max(40), ...shape })
}

/** Checks each row against the strict schema. Indexes are those of the request. */
export function bulkRows<T extends z.ZodType>(
  schema: T,
  rows: readonly { readonly e164: string }[],
): {
  readonly valid: readonly { readonly index: number; readonly row: z.output<T> }[]
  readonly rejected: RejectedRow[]
} {
  const valid: { index: number; row: z.output<T> }[] = []
  const rejected: RejectedRow[] = []
  for (const [index, received] of rows.entries()) {
    const parsed = schema.safeParse(received)
    if (parsed.success) {
      valid.push({ index, row: parsed.data })
      continue
    }
    const [issue] = parsed.error.issues
    const message = `${issue?.path.join('.') ?? 'The row'}: ${issue?.message ?? 'is invalid'}`
    rejected.push({ index, e164: received.e164, code: 'validation_error', message })
  }
  return { valid, rejected }
}

export function authorOf(actor: Actor): Author {
  return actor.kind === 'key' ? { type: 'key', id: actor.keyId } : { type: 'user', id: actor.userId }
}
