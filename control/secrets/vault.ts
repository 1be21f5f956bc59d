import { createHash } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'
import { seal, unseal } from '../base/crypto.js'
import type { KeyPurpose, RootKey } from '../base/root-key.js'

/** A sealed text and which encryption key it needs. */
export interface SealedText {
  readonly sealed: string
  readonly keyId: string
}

/**
 * Texts under AES-256-GCM. New ones are sealed with the key of the present root key; those of an
 * earlier root key stay readable while that one is configured.
 */
export interface Vault {
  /** Of the key that new texts are sealed with. */
  readonly keyId: string
  /** `bound` is the id of the row: a text moved to another row does not open. */
  seal(plain: string, bound: string): SealedText
  /** Throws EngineError `storage_failed` when its root key is not configured any more, or it was altered. */
  open(stored: SealedText, bound: string): string
}

export function openVault(rootKey: RootKey, purpose: KeyPurpose): Vault {
  const keys = new Map<string, Buffer>()
  for (const root of [rootKey, ...rootKey.previous]) {
    const key = root.subkey(purpose)
    keys.set(idOf(key), key)
  }
  const current = rootKey.subkey(purpose)
  const keyId = idOf(current)
  return {
    keyId,
    seal: (plain, bound) => ({ sealed: seal(current, plain, bound), keyId }),
    open(stored, bound) {
      const key = keys.get(stored.keyId)
      if (key === undefined) {
        throw new EngineError('storage_failed', 'a stored secret was sealed with another root key', {
          context: { keyId: stored.keyId },
        })
      }
      return unseal(key, stored.sealed, bound)
    },
  }
}

function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}
