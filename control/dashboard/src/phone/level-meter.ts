/** Speech is between these levels (dB below full scale). */
const QUIET_DB = -55
const LOUD_DB = -10

export interface LevelMeter {
  /** Returns how loud the sound is now, from 0 to 1. */
  level(): number
  /** Idempotent. */
  close(): void
}

/** Measures the sound of a stream. */
export function levelMeter(stream: MediaStream): LevelMeter {
  const audio = new AudioContext()
  const analyser = audio.createAnalyser()
  analyser.fftSize = 1024
  audio.createMediaStreamSource(stream).connect(analyser)
  const samples = new Float32Array(analyser.fftSize)
  return {
    level() {
      analyser.getFloatTimeDomainData(samples)
      const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length
      const db = 10 * Math.log10(power + 1e-12)
      return Math.min(1, Math.max(0, (db - QUIET_DB) / (LOUD_DB - QUIET_DB)))
    },
    close() {
      if (audio.state !== 'closed') void audio.close()
    },
  }
}
