import { createHash, createHmac } from 'node:crypto'

const MASTER_BYTES = 48
const FINISHED_BYTES = 12

/** Returns the pseudo-random function of TLS 1.2 with SHA-256 (RFC 5246 section 5). */
export function prf(secret: Uint8Array, label: string, seed: Uint8Array, bytes: number): Buffer {
  const labelled = Buffer.concat([Buffer.from(label, 'latin1'), seed])
  const blocks: Buffer[] = []
  let a = hmac(secret, labelled)
  for (let length = 0; length < bytes; length += a.length) {
    blocks.push(hmac(secret, Buffer.concat([a, labelled])))
    a = hmac(secret, a)
  }
  return Buffer.concat(blocks).subarray(0, bytes)
}

/** Returns the master secret that is bound to the handshake up to ClientKeyExchange (RFC 7627 section 4). */
export function extendedMasterSecret(premaster: Uint8Array, transcript: readonly Uint8Array[]): Buffer {
  return prf(premaster, 'extended master secret', digest(transcript), MASTER_BYTES)
}

/** Returns the contents of a Finished message (RFC 5246 section 7.4.9). */
export function verifyData(
  master: Uint8Array,
  side: 'client' | 'server',
  transcript: readonly Uint8Array[],
): Buffer {
  return prf(master, `${side} finished`, digest(transcript), FINISHED_BYTES)
}

export interface RecordKey {
  readonly key: Buffer
  /** The fixed part of the nonce. */
  readonly salt: Buffer
}

/** Returns the keys of AES-128-GCM records (RFC 5246 section 6.3, RFC 5288 section 3). */
export function recordKeys(
  master: Uint8Array,
  clientRandom: Uint8Array,
  serverRandom: Uint8Array,
): { readonly client: RecordKey; readonly server: RecordKey } {
  const block = prf(master, 'key expansion', Buffer.concat([serverRandom, clientRandom]), 40)
  return {
    client: { key: block.subarray(0, 16), salt: block.subarray(32, 36) },
    server: { key: block.subarray(16, 32), salt: block.subarray(36, 40) },
  }
}

function digest(transcript: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const message of transcript) hash.update(message)
  return hash.digest()
}

function hmac(secret: Uint8Array, data: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(data).digest()
}
