import { EngineError } from '../../media/base/errors.js'
import { seal, unseal } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'

/** Which of the two passwords of a trunk: of its calls to us, or of ours to the carrier. */
export type TrunkPassword = 'inbound' | 'outbound'

/**
 * Digest needs the password itself (or what is worth as much), so it is kept encrypted and not as a
 * hash; bound to its trunk, so that a row's secret is of no use in another row.
 */
export function sealPassword(rootKey: RootKey, trunkId: string, which: TrunkPassword, plain: string): string {
  return seal(rootKey.subkey('trunk-secrets'), plain, `${trunkId}:${which}`)
}

/** Throws EngineError `storage_failed` when no root key of ours opens it. */
export function unsealPassword(
  rootKey: RootKey,
  trunkId: string,
  which: TrunkPassword,
  sealed: string,
): string {
  let failure: unknown
  for (const root of [rootKey, ...rootKey.previous]) {
    try {
      return unseal(root.subkey('trunk-secrets'), sealed, `${trunkId}:${which}`)
    } catch (error) {
      failure = error
    }
  }
  throw new EngineError('storage_failed', 'a trunk password cannot be opened with this root key', {
    cause: failure,
    context: { trunkId },
  })
}
