/** How a carrier expects numbers to be written (an open set in the API, closed here). */
export type NumberFormat = 'e164' | 'national' | 'national0'

export const NUMBER_FORMATS = ['e164', 'national', 'national0'] as const satisfies readonly NumberFormat[]

const INDIA = '+91'

/**
 * Returns an E.164 number in the format of the trunk's carrier, for called and calling party alike. The
 * national formats are those of India: ten digits including the STD code, after a trunk zero with
 * `national0`. A foreign number gets the international prefix 00. A text that is not an E.164 number (an
 * account name) is returned unchanged.
 */
export function formatNumber(e164: string, format: NumberFormat): string {
  if (format === 'e164' || !/^\+\d+$/.test(e164)) return e164
  if (!e164.startsWith(INDIA)) return `00${e164.slice(1)}`
  const national = e164.slice(INDIA.length)
  return format === 'national0' ? `0${national}` : national
}

/** `did`: the number called from. `trunk_default`: the identity under which the carrier knows the trunk. */
export type CallerIdPolicy = 'did' | 'trunk_default'

export const CALLER_ID_POLICIES = ['did', 'trunk_default'] as const satisfies readonly CallerIdPolicy[]

/** Returns the calling party of an outbound INVITE in the trunk's format. */
export function callerIdentity(
  trunk: {
    readonly callerIdPolicy: CallerIdPolicy
    /** The trunk's own number or account name. */
    readonly callerId: string | null
    readonly numberFormat: NumberFormat
  },
  did: string,
): string {
  const own = trunk.callerIdPolicy === 'trunk_default' ? trunk.callerId : null
  return formatNumber(own ?? did, trunk.numberFormat)
}
