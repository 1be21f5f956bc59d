/** How a carrier wants numbers written (contract 2.5, an open set on the wire, closed here). */
export type NumberFormat = 'e164' | 'national' | 'national0'

export const NUMBER_FORMATS = ['e164', 'national', 'national0'] as const satisfies readonly NumberFormat[]

const INDIA = '+91'

/**
 * An E.164 number as the trunk's carrier expects it, for called and calling party alike. National
 * forms are those of India: mobile and landline numbers have ten digits there (the STD code is part of
 * them), behind a trunk zero if wanted. A foreign number keeps its country code behind the
 * international prefix 00. What is no E.164 number (an account name) stays as it is.
 */
export function formatNumber(e164: string, format: NumberFormat): string {
  if (format === 'e164' || !/^\+\d+$/.test(e164)) return e164
  if (!e164.startsWith(INDIA)) return `00${e164.slice(1)}`
  const national = e164.slice(INDIA.length)
  return format === 'national0' ? `0${national}` : national
}

/** `did`: the number dialled from. `trunk_default`: the identity the carrier knows the trunk by. */
export type CallerIdPolicy = 'did' | 'trunk_default'

export const CALLER_ID_POLICIES = ['did', 'trunk_default'] as const satisfies readonly CallerIdPolicy[]

/** The calling party of an outbound INVITE, in the trunk's format. */
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
