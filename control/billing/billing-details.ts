import { z } from 'zod'
import { nameText } from '../base/schemas.js'
import { gstinProblem, STATES, statesOfGstin } from './gstin.js'

/** Billing details: the recipient of invoices and the place of supply for GST. */
export interface Billing {
  readonly name: string | null
  readonly address: string | null
  readonly city: string | null
  readonly pincode: string | null
  readonly stateCode: string | null
  readonly gstin: string | null
  /** True for a unit or a developer of a special economic zone, which its GSTIN does not show. */
  readonly sez: boolean
}

/** Schema of a PIN code: six digits, the first not zero. */
export const Pincode = z.string().regex(/^[1-9]\d{5}$/, 'must be a PIN code of six digits')

export const StateCode = z
  .string()
  .max(20)
  .refine((code) => Object.hasOwn(STATES, code), 'must be the two-digit GST code of an Indian state')
  .meta({ examples: ['29'] })

/** Schema of a GSTIN with a valid format, state and check character. */
export const Gstin = z
  .string()
  .max(40)
  .superRefine((gstin, context) => {
    const problem = gstinProblem(gstin)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })
  .meta({ examples: ['29AAGCB7383J1Z4'] })

/** Billing details in a PATCH. A missing field does not change, null clears it. */
export const BillingPatch = z.strictObject({
  name: nameText(200).nullable().optional(),
  address: nameText(500).nullable().optional(),
  city: nameText(100).nullable().optional(),
  pincode: Pincode.nullable().optional(),
  stateCode: StateCode.nullable().optional(),
  gstin: Gstin.nullable().optional(),
  sez: z.boolean().optional().meta({
    description: 'True for a unit or a developer of a special economic zone: it always bears IGST.',
  }),
})

export interface AddressProblem {
  readonly path: 'stateCode' | 'gstin' | 'sez'
  readonly message: string
}

/**
 * Returns the contradiction between a GSTIN and a state, or null. With a contradiction the place of supply
 * would be ambiguous. A recipient in a special economic zone has a GSTIN.
 */
export function addressProblem(address: {
  readonly stateCode: string | null
  readonly gstin: string | null
  readonly sez?: boolean
}): AddressProblem | null {
  const { stateCode, gstin, sez = false } = address
  if (gstin === null) {
    return sez ? { path: 'sez', message: 'A recipient in a special economic zone needs its GSTIN.' } : null
  }
  const states = statesOfGstin(gstin)
  if (stateCode === null) {
    return {
      path: 'stateCode',
      message: `A GSTIN needs the state it is registered in: ${states.join(' or ')}.`,
    }
  }
  if (states.includes(stateCode)) return null
  return {
    path: 'gstin',
    message: `The GSTIN is registered in state ${states.join(' or ')}, the address is in state ${stateCode}.`,
  }
}
