/** Samples as the bytes of little-endian PCM, copied: a socket may send them later. */
export function pcmBytes(pcm: Int16Array): Uint8Array {
  // Every platform Node runs on is little-endian.
  return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength).slice()
}

/** Samples of little-endian PCM; an odd last byte is left out. */
export function samplesOf(bytes: Uint8Array): Int16Array {
  const pcm = new Int16Array(bytes.length >> 1)
  new Uint8Array(pcm.buffer).set(bytes.subarray(0, pcm.byteLength))
  return pcm
}

/** Samples in base64, as most vendors' JSON carries them. */
export function pcmBase64(pcm: Int16Array): string {
  return Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).toString('base64')
}
