import type { SessionRate } from '../../media/base/frame.js'
import type { SpeechModel } from '../../media/vad/speech-model.js'
import { loadOnnx } from '../../workers/models/onnx.js'
import { sileroFile } from '../../workers/models/silero.js'
import { SpeechNetwork } from '../../workers/models/speech-network.js'

/** Frames (20 ms) from the end of a window to its probability: the time of the other thread. */
const LATE_FRAMES = 1

/** Runs the neural detector of the package on virtual time: the same result on every host. */
export interface NeuralVad {
  /** CPU time of a window, microseconds; null before the first one. */
  readonly windowMicros: () => number | null
  /** Judges a whole sound, then returns a model that knows the results of this sound only. */
  judge(pcm: Int16Array, rate: SessionRate): Promise<SpeechModel>
}

/** Returns null when the package or the runtime is not installed. */
export async function openNeuralVad(): Promise<NeuralVad | null> {
  const path = sileroFile()
  if (path === null) return null
  const { ort, session } = await loadOnnx({ path, runtime: 'onnxruntime-node', setting: 'PARLEY_VAD_MODEL' })
  const network = new SpeechNetwork(ort, session)
  let stream = 0
  let windows = 0
  let micros = 0
  return {
    windowMicros: () => (windows === 0 ? null : micros / windows),
    async judge(pcm, rate) {
      stream++
      const samples = network.window(rate)
      const probabilities: number[] = []
      const before = process.cpuUsage()
      for (let at = 0; at + samples <= pcm.length; at += samples) {
        const window = Float32Array.from(pcm.subarray(at, at + samples), (sample) => sample / 32768)
        const [likely = 0] = await network.judge({
          rate,
          streams: [stream],
          windows: window,
          closed: [stream - 1],
        })
        probabilities.push(likely)
      }
      const { user, system } = process.cpuUsage(before)
      micros += user + system
      windows += probabilities.length
      return replayed(probabilities, samples, rate)
    },
  }
}

function replayed(probabilities: readonly number[], samples: number, rate: SessionRate): SpeechModel {
  return {
    open() {
      let frames = 0
      return {
        process() {
          frames++
          const complete = Math.floor(((frames - LATE_FRAMES) * (rate / 50)) / samples)
          return probabilities[complete - 1] ?? null
        },
        close() {},
      }
    },
  }
}
