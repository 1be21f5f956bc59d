/** Copies samples into little-endian PCM bytes; the copy may be sent later. */
export function pcmBytes(pcm: Int16Array): Uint8Array {
  // Every platform that Node supports is little-endian.
  return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength).slice()
}

/** Returns the samples of little-endian PCM; ignores an odd last byte. */
export function samplesOf(bytes: Uint8Array): Int16Array {
  const pcm = new Int16Array(bytes.length >> 1)
  new Uint8Array(pcm.buffer).set(bytes.subarray(0, pcm.byteLength))
  return pcm
}

/** Encodes samples as base64, the usual form in vendors' JSON. */
export function pcmBase64(pcm: Int16Array): string {
  return Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).toString('base64')
}
