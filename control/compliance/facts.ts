import type { Db, Trx } from '../db/database.js'
import type { WalletRow } from '../db/tables/wallet.js'
import { availablePaise } from '../wallet/ledger.js'
import { readWallet } from '../wallet/store.js'
import { MIN_CALL_PAISE } from '../wallet/view.js'
import { DEFAULT_WINDOWS } from './calling-hours.js'
import type { Environment, GateFacts } from './gate.js'

/** Stored in every sealed record. Change it whenever a check or a window changes its meaning. */
export const POLICY_VERSION = '2026-2'

/** Reads the gate's facts about an organization. In the live environment the wallet is locked by the caller. */
export async function gateFacts(
  db: Db | Trx,
  organizationId: string,
  environment: Environment,
  now: number,
): Promise<GateFacts> {
  const profile = await callingProfile(db, organizationId)
  const start = profile?.windowStartMinute ?? null
  const end = profile?.windowEndMinute ?? null
  return {
    policyVersion: POLICY_VERSION,
    windows: DEFAULT_WINDOWS,
    windowNarrowing: start === null || end === null ? null : { startMinute: start, endMinute: end },
    extraMobilePrefixes: [],
    enforcement: {
      blocked: (profile?.enforcedAt ?? null) !== null,
      reason: profile?.enforcedReason ?? null,
    },
    wallet: environment === 'test' ? null : walletFacts(await readWallet(db, organizationId, now)),
  }
}

function walletFacts(wallet: WalletRow): GateFacts['wallet'] {
  return {
    balancePaise: wallet.balancePaise,
    availablePaise: availablePaise(wallet),
    minBalancePaise: MIN_CALL_PAISE,
    onHold: wallet.onHold === 1 || wallet.haltedAt !== null,
  }
}

/**
 * Returns whether the operator has blocked the organization. Inbound calls, which have no gate, ask for it
 * too.
 */
export async function isCallingBlocked(db: Db | Trx, organizationId: string): Promise<boolean> {
  return ((await callingProfile(db, organizationId))?.enforcedAt ?? null) !== null
}

function callingProfile(db: Db | Trx, organizationId: string) {
  return db
    .selectFrom('callingProfiles')
    .select(['enforcedAt', 'enforcedReason', 'windowStartMinute', 'windowEndMinute'])
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
}
