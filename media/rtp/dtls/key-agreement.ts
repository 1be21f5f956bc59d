import { createECDH, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { DtlsFailure } from './bytes.js'

/** Named groups of RFC 8422 section 5.1.1, in Parley's order of preference. */
export const GROUPS = { x25519: 29, secp256r1: 23 } as const

/** One half of an ephemeral key exchange. */
export interface EphemeralKey {
  readonly group: number
  /** The public value as it stands in ServerKeyExchange. */
  readonly publicValue: Buffer
  /** Returns the shared secret. Throws DtlsFailure `illegal_parameter` for a value that is no point of the group. */
  agree(peer: Buffer): Buffer
}

const X25519_BYTES = 32
/** The start of an X25519 key in SubjectPublicKeyInfo (RFC 8410 section 4). */
const X25519_SPKI = Buffer.from('302a300506032b656e032100', 'hex')

/**
 * Makes a key in the best group that the client knows; null when it lacks P-256. The list of groups restricts the
 * curves of certificates, too (RFC 8422 section 5.1), and Parley's certificate has a P-256 key.
 */
export function createEphemeralKey(groups: readonly number[]): EphemeralKey | null {
  if (!groups.includes(GROUPS.secp256r1)) return null
  return groups.includes(GROUPS.x25519) ? x25519() : secp256r1()
}

function x25519(): EphemeralKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    group: GROUPS.x25519,
    publicValue: publicKey.export({ type: 'spki', format: 'der' }).subarray(X25519_SPKI.length),
    agree: (peer) =>
      checked(() => {
        if (peer.length !== X25519_BYTES) throw new RangeError('an X25519 value has 32 bytes')
        const key = createPublicKey({ key: Buffer.concat([X25519_SPKI, peer]), format: 'der', type: 'spki' })
        // OpenSSL refuses the points of small order, whose secret is all zeros (RFC 7748 section 6.1).
        return diffieHellman({ privateKey, publicKey: key })
      }),
  }
}

function secp256r1(): EphemeralKey {
  const key = createECDH('prime256v1')
  const publicValue = key.generateKeys()
  return {
    group: GROUPS.secp256r1,
    publicValue,
    agree: (peer) =>
      checked(() => {
        // Only the uncompressed form was negotiated (RFC 8422 section 5.1.2).
        if (peer[0] !== 4) throw new RangeError('a P-256 point must be uncompressed')
        return key.computeSecret(peer)
      }),
  }
}

function checked(agree: () => Buffer): Buffer {
  try {
    return agree()
  } catch (error) {
    throw new DtlsFailure('illegal_parameter', `the client's key cannot be used: ${String(error)}`)
  }
}
