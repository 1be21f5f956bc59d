/** Returns the memory of samples as little-endian PCM bytes. */
export function viewBytes(pcm: Int16Array): Uint8Array {
  // Every platform that Node supports is little-endian.
  return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength)
}

/** Copies samples into little-endian PCM bytes; the copy may be sent later. */
export function pcmBytes(pcm: Int16Array): Uint8Array {
  return viewBytes(pcm).slice()
}

/** Returns the samples of little-endian PCM; ignores an odd last byte. */
export function samplesOf(bytes: Uint8Array): Int16Array {
  const pcm = new Int16Array(bytes.length >> 1)
  new Uint8Array(pcm.buffer).set(bytes.subarray(0, pcm.byteLength))
  return pcm
}
