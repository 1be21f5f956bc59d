/** Money with a receipt voucher that no document has used up (paise). */
export interface Advance {
  readonly topupId: string
  readonly leftPaise: number
}

/** A step of a wallet. Steps are in the order of its ledger. */
export type UseStep =
  /** Charges, less what was given back. */
  | { readonly kind: 'use'; readonly paise: number }
  /** A payment with a receipt voucher. `debtPaise` is how far the balance was below zero: use that it pays for. */
  | { readonly kind: 'advance'; readonly advance: Advance; readonly debtPaise: number }

/** The charge of each advance by top-up, and the money given back beyond all use, which lowers the next use. */
export interface ChargedAdvances {
  readonly charged: ReadonlyMap<string, number>
  readonly givenBackPaise: number
}

/**
 * Charges use to advances, the oldest first. Use beyond all advances was paid with other money, for which no invoice is
 * owed, or is a debt that the next advance pays. An advance covers earlier use only to the extent of a debt.
 */
export function chargeAdvances(
  advances: readonly Advance[],
  steps: readonly UseStep[],
  givenBackPaise: number,
): ChargedAdvances {
  const open = advances.map(({ topupId, leftPaise }) => ({ topupId, leftPaise }))
  const charged = new Map<string, number>()
  let givenBack = givenBackPaise
  const use = (paise: number): void => {
    let owed = paise - givenBack
    givenBack = Math.max(0, -owed)
    for (const advance of open) {
      if (owed <= 0) return
      const part = Math.min(owed, advance.leftPaise)
      owed -= part
      advance.leftPaise -= part
      if (part > 0) charged.set(advance.topupId, (charged.get(advance.topupId) ?? 0) + part)
    }
  }
  for (const step of steps) {
    if (step.kind === 'advance') open.push({ ...step.advance })
    use(step.kind === 'use' ? step.paise : step.debtPaise)
  }
  return { charged, givenBackPaise: givenBack }
}
