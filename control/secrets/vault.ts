import { createHash } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'
import { seal, unseal } from '../base/crypto.js'
import type { KeyPurpose, RootKey } from '../base/root-key.js'

/** Encrypted text and the id of its encryption key. */
export interface SealedText {
  readonly sealed: string
  readonly keyId: string
}

/**
 * Encrypts and decrypts text with AES-256-GCM. New text is encrypted with the current root key. Text of an
 * earlier root key can be decrypted while that key is configured.
 */
export interface Vault {
  /** Id of the current encryption key. */
  readonly keyId: string
  /** Encrypts text. `bound` is the id of the row: text that is copied to another row cannot be decrypted. */
  seal(plain: string, bound: string): SealedText
  /**
   * Decrypts text. Throws EngineError `storage_failed` if its root key is not configured or the text was
   * modified.
   */
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
