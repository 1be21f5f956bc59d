import { isDialable } from '../compliance/numbering.js'

/** A recipient as a request states it. */
export interface GivenRecipient {
  readonly e164: string
  readonly externalId?: string | undefined
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** True if a row of CSV has values beyond the columns of the header. */
  readonly hasExtraCells?: boolean
}

export interface CheckedRecipient {
  readonly e164: string
  readonly externalId: string | null
  readonly variables: Readonly<Record<string, string>>
}

/** Faults of a row. */
export const REJECTION_REASONS = [
  ...(['number', 'external_id_length', 'external_id_control'] as const),
  ...(['variable_count', 'variable_name', 'variable_length', 'duplicate', 'recipient_limit'] as const),
  'column_count',
] as const
export type RejectionReason = (typeof REJECTION_REASONS)[number]

/** A row that was not imported, with its reason. */
export interface RejectedRecipient {
  /** Position in the request, from 0. */
  readonly index: number
  /** Line of a CSV body. */
  readonly line?: number
  readonly e164: string
  readonly code: 'validation_error' | 'conflict' | 'unprocessable_entity'
  readonly reason: RejectionReason
  readonly message: string
}

const VARIABLE = /^[a-zA-Z_][a-zA-Z0-9_]{0,49}$/
/** Variables of a recipient. */
export const MAX_VARIABLES = 50
const MAX_VALUE_BYTES = 1_024
const MAX_EXTERNAL_ID = 200

interface Problem {
  readonly code: 'validation_error'
  readonly reason: RejectionReason
  readonly message: string
}

/** Returns the recipient, or what is wrong with it. */
export function checkRecipient(
  { e164, externalId, variables = {}, hasExtraCells = false }: GivenRecipient,
  extraMobilePrefixes: readonly string[],
): CheckedRecipient | Problem {
  // A comma in a value without quotes moves the values after it into the wrong columns.
  if (hasExtraCells) return invalid('column_count', 'The row has more cells than the header row.')
  if (!isDialable(e164, extraMobilePrefixes)) {
    return invalid(
      'number',
      'The number is not an Indian mobile or landline number in the form +919876543210.',
    )
  }
  if (externalId !== undefined && externalId.length > MAX_EXTERNAL_ID) {
    return invalid('external_id_length', `externalId has more than ${MAX_EXTERNAL_ID} characters.`)
  }
  if (externalId !== undefined && /\p{Cc}/u.test(externalId)) {
    return invalid('external_id_control', 'externalId contains a control character.')
  }
  const names = Object.keys(variables)
  if (names.length > MAX_VARIABLES) {
    return invalid('variable_count', `A recipient has at most ${MAX_VARIABLES} variables.`)
  }
  for (const name of names) {
    if (!isVariableName(name)) {
      return invalid('variable_name', `${name.slice(0, 60)} is not the name of a variable.`)
    }
    const value = variables[name] ?? ''
    // A text of this length is short enough in any encoding.
    if (value.length * 3 > MAX_VALUE_BYTES && Buffer.byteLength(value) > MAX_VALUE_BYTES) {
      return invalid('variable_length', `The value of ${name} has more than ${MAX_VALUE_BYTES} bytes.`)
    }
  }
  return { e164, externalId: externalId === undefined || externalId === '' ? null : externalId, variables }
}

export function isVariableName(name: string): boolean {
  return VARIABLE.test(name)
}

function invalid(reason: RejectionReason, message: string): Problem {
  return { code: 'validation_error', reason, message }
}
