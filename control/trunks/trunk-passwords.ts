import { EngineError } from '../../media/base/errors.js'
import { seal, unseal } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'

/** Direction of a trunk password: inbound for calls to this service, outbound for calls to the carrier. */
export type TrunkPassword = 'inbound' | 'outbound'

/**
 * Encrypts a trunk password. Digest authentication needs the password itself, so it cannot be hashed. It is
 * bound to its trunk and cannot be decrypted in another row.
 */
export function sealPassword(rootKey: RootKey, trunkId: string, which: TrunkPassword, plain: string): string {
  return seal(rootKey.subkey('trunk-secrets'), plain, `${trunkId}:${which}`)
}

/** Decrypts a trunk password. Throws EngineError `storage_failed` if no root key fits. */
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
