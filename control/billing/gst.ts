/*
 * GST on services within India, in integer paise. The heads are rounded half up, each for itself. CGST and the
 * state's half are always equal.
 */

/** Rate of a service from a day on. */
export interface GstRate {
  /** First day (IST, `YYYY-MM-DD`). */
  readonly effectiveFrom: string
  readonly ratePercent: number
  /** Service accounting code: 4 or 6 digits. */
  readonly sac: string
  /** Line of the invoice. */
  readonly description: string
  /** Notification or other text that the rate was taken from. */
  readonly source: string
}

/** Tax by head. Either IGST, or CGST with SGST or UTGST. */
export interface TaxHeads {
  readonly cgstPaise: number
  readonly sgstPaise: number
  readonly utgstPaise: number
  readonly igstPaise: number
}

/**
 * Union territories without a legislature, where UTGST takes the place of SGST. Delhi, Puducherry and Jammu and
 * Kashmir levy SGST.
 */
const UTGST_STATES: ReadonlySet<string> = new Set(['04', '26', '31', '35', '38', '97'])

/** Returns the rate of a day (IST, `YYYY-MM-DD`), or null before the first one. */
export function rateAt(rates: readonly GstRate[], day: string): GstRate | null {
  const begun = rates.filter(({ effectiveFrom }) => effectiveFrom <= day)
  return begun.toSorted((a, b) => a.effectiveFrom.localeCompare(b.effectiveFrom)).at(-1) ?? null
}

/**
 * Returns the tax on a value. The states are two-digit GST codes. A supply to a unit or a developer of a special economic zone
 * is always one between states (IGST Act 7(5)(b)).
 */
export function gstOn(
  taxablePaise: number,
  supply: {
    readonly ratePercent: number
    readonly supplierState: string
    readonly placeOfSupply: string
    readonly sez?: boolean
  },
): TaxHeads {
  const { ratePercent, supplierState, placeOfSupply, sez = false } = supply
  if (sez || supplierState !== placeOfSupply) return heads(placeOfSupply, 0, share(taxablePaise, ratePercent))
  return heads(placeOfSupply, share(taxablePaise, ratePercent / 2), 0)
}

/** Returns the sum of the heads (paise). */
export function taxTotal({ cgstPaise, sgstPaise, utgstPaise, igstPaise }: TaxHeads): number {
  return cgstPaise + sgstPaise + utgstPaise + igstPaise
}

/** Taxable value and tax of a payment, or of the part of it that was refunded. */
export interface TaxedAmount {
  readonly taxablePaise: number
  readonly tax: TaxHeads
}

/**
 * Divides a refund of `grossPaise` into value and tax, in the proportion of the payment. `refunded` is what earlier
 * refunds returned. The refund that completes the payment takes the remainders, so that nothing is lost by rounding.
 */
export function divideRefund(paid: TaxedAmount, refunded: TaxedAmount, grossPaise: number): TaxedAmount {
  const paidTax = taxTotal(paid.tax)
  const payablePaise = paid.taxablePaise + paidTax
  const before = refunded.taxablePaise + taxTotal(refunded.tax)
  if (before + grossPaise >= payablePaise) {
    return {
      taxablePaise: paid.taxablePaise - refunded.taxablePaise,
      tax: {
        cgstPaise: paid.tax.cgstPaise - refunded.tax.cgstPaise,
        sgstPaise: paid.tax.sgstPaise - refunded.tax.sgstPaise,
        utgstPaise: paid.tax.utgstPaise - refunded.tax.utgstPaise,
        igstPaise: paid.tax.igstPaise - refunded.tax.igstPaise,
      },
    }
  }
  const taxPaise = grossPaise - Math.round((grossPaise * paid.taxablePaise) / payablePaise)
  if (paid.tax.cgstPaise === 0) {
    return { taxablePaise: grossPaise - taxPaise, tax: { ...NO_TAX, igstPaise: taxPaise } }
  }
  // Two equal halves: an odd paisa of tax counts as value.
  const half = Math.floor(taxPaise / 2)
  const state = paid.tax.utgstPaise > 0 ? { utgstPaise: half } : { sgstPaise: half }
  return { taxablePaise: grossPaise - 2 * half, tax: { ...NO_TAX, cgstPaise: half, ...state } }
}

/**
 * Returns value and tax of a part of a payment that was used, in the proportion of the payment. `named` is what the documents
 * before it name. The part that completes the payment takes the remainders.
 */
export function divideUse(paid: TaxedAmount, named: TaxedAmount, taxablePaise: number): TaxedAmount {
  const reached = named.taxablePaise + taxablePaise
  const part = (head: keyof TaxHeads): number => {
    const tax = Math.round((paid.tax[head] * Math.min(reached, paid.taxablePaise)) / paid.taxablePaise)
    return Math.max(0, tax - named.tax[head])
  }
  return {
    taxablePaise,
    tax: {
      cgstPaise: part('cgstPaise'),
      sgstPaise: part('sgstPaise'),
      utgstPaise: part('utgstPaise'),
      igstPaise: part('igstPaise'),
    },
  }
}

/** Returns `whole` without `part`. No head is less than zero. */
export function without(whole: TaxedAmount, part: TaxedAmount): TaxedAmount {
  const rest = (head: keyof TaxHeads): number => Math.max(0, whole.tax[head] - part.tax[head])
  return {
    taxablePaise: whole.taxablePaise - part.taxablePaise,
    tax: {
      cgstPaise: rest('cgstPaise'),
      sgstPaise: rest('sgstPaise'),
      utgstPaise: rest('utgstPaise'),
      igstPaise: rest('igstPaise'),
    },
  }
}

export const NO_TAX: TaxHeads = { cgstPaise: 0, sgstPaise: 0, utgstPaise: 0, igstPaise: 0 }

function heads(placeOfSupply: string, halfPaise: number, igstPaise: number): TaxHeads {
  const union = UTGST_STATES.has(placeOfSupply)
  return {
    cgstPaise: halfPaise,
    sgstPaise: union ? 0 : halfPaise,
    utgstPaise: union ? halfPaise : 0,
    igstPaise,
  }
}

/** Rounds half up in whole numbers: rates have at most two decimals. */
function share(taxablePaise: number, percent: number): number {
  const hundredths = Math.round(percent * 100)
  return Math.floor((taxablePaise * hundredths + 5_000) / 10_000)
}
