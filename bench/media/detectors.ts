import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../../media/base/frame.js'
import { openResampler } from '../../media/codec/resampler.js'
import { DETECTORS, type DetectorName, Detectors } from '../../media/detect/detectors.js'
import { EchoEstimator } from '../../media/detect/echo-estimator.js'
import { NoiseSuppression } from '../../media/vad/noise-suppressor.js'
import { loadVad } from '../../media/vad/vad.js'
import { cpuMicros, garbageBytes } from '../lib/cpu.js'
import { figure, type Measured, part } from '../lib/figures.js'

const RATES: readonly SessionRate[] = [8000, 16_000]

/** M_detect: measures the cost of each detector for a 20 ms frame of speech, at both rates. */
export async function measureDetectors(): Promise<Measured[]> {
  const names = Object.keys(DETECTORS) as DetectorName[]
  const factory = await loadVad()
  const suppression = new NoiseSuppression()
  await suppression.load()
  return RATES.flatMap((rate) => {
    const frames = speech(rate)
    const frame = (i: number): Int16Array => frames[i % frames.length] as Int16Array
    const row = (name: string, run: (i: number) => void): Measured => {
      const value = cpuMicros(run)
      return figure(`M_detect@${name}-${rate}`, { n: 9, value }, { garbageBytes: garbageBytes(run) })
    }
    let at = 0
    const echo = new EchoEstimator(rate)
    const vad = factory.open({ rate, startMs: 60, stopMs: 300 })
    const suppressor = suppression.open(rate)
    const suppress = (i: number): void => void suppressor?.process(frame(i))
    return [
      ...names.map((name) => {
        const detectors = new Detectors(rate, [name], () => {})
        return row(name, (i) => detectors.process(frame(i), i * 20))
      }),
      row('echo', (i) => {
        at += 20
        echo.processSent(frame(i), at)
        echo.processReceived(frame(i + 7), at)
      }),
      row('vad', (i) => {
        at += 20
        vad.process(frame(i), at)
      }),
      // For agents that ask for it: no gate.
      part(
        `M_detect@noise-suppression-${rate}`,
        { n: 9, value: cpuMicros(suppress) },
        { garbageBytes: garbageBytes(suppress) },
      ),
    ]
  })
}

function speech(rate: SessionRate): Int16Array[] {
  const clip = readClip(findClip('forever-1'))
  const resampler = rate === 8000 ? null : openResampler(8000, 16_000)
  const frames: Int16Array[] = []
  for (let at = 0; at + 160 <= clip.length; at += 160) {
    const frame = clip.slice(at, at + 160)
    frames.push(resampler === null ? frame : resampler.process(frame).slice())
  }
  return frames
}
