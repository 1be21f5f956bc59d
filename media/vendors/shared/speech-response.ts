import type { Cancellable, SpeakEvents, SpeakRequest } from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { Rate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import { openResampler } from '../../codec/resampler.js'
import { PcmReader } from './pcm-reader.js'
import type { VendorResponse } from './vendor-http.js'

const COMPRESSED = /^audio\/(mpeg|mp3|ogg|opus|aac|flac|webm)/
const RATES: readonly number[] = [8000, 16_000, 24_000, 48_000] satisfies readonly Rate[]
/** Rate (Hz) of many local synthesizers. No session uses it, so it is converted here. */
const CD_QUARTER = 22_050

/** Speaks the audio of one HTTP response: PCM of `rate` Hz, or WAV. `ask` sends the request. */
export function speakResponse(
  request: SpeakRequest,
  events: SpeakEvents,
  {
    rate,
    log,
    ask,
  }: {
    readonly rate: number
    readonly log: Log
    readonly ask: (signal: AbortSignal) => Promise<VendorResponse>
  },
): Cancellable {
  const stop = new AbortController()
  const { signal } = stop
  run(request, events, rate, ask, signal).catch((error: unknown) => {
    if (signal.aborted) return
    stop.abort()
    const failure =
      error instanceof EngineError
        ? error
        : new EngineError('vendor_failed', errorText(error), { cause: error })
    log.debug({ code: failure.code }, 'tts.failed')
    events.failed(failure)
  })
  return { cancel: () => stop.abort() }
}

async function run(
  request: SpeakRequest,
  events: SpeakEvents,
  rate: number,
  ask: (signal: AbortSignal) => Promise<VendorResponse>,
  signal: AbortSignal,
): Promise<void> {
  const response = await ask(signal)
  if (COMPRESSED.test(response.contentType) || response.contentType.startsWith('application/json')) {
    response.discard()
    throw new EngineError('vendor_failed', `the vendor sent ${response.contentType} where PCM was asked for`)
  }
  const reader = new PcmReader(rate)
  let deliver: ((pcm: Int16Array) => void) | null = null
  await response.read((bytes) => {
    const pcm = reader.push(bytes)
    if (pcm.length > 0 && !signal.aborted) {
      deliver ??= delivery(reader.rate, request, events)
      deliver(pcm)
    }
    return !signal.aborted
  })
  if (signal.aborted) return
  if (deliver === null)
    throw new EngineError('vendor_failed', 'the vendor sent no audio', { retryable: true })
  events.done()
}

/**
 * Returns a function that delivers audio at its own rate, or converted to the session's rate if no session
 * supports it.
 */
function delivery(rate: number, request: SpeakRequest, events: SpeakEvents): (pcm: Int16Array) => void {
  if (isRate(rate)) return (pcm) => events.audio(pcm, rate)
  if (rate !== CD_QUARTER) {
    throw new EngineError('vendor_failed', `the vendor sent audio at ${rate} Hz, which is not supported`)
  }
  const resampler = openResampler(CD_QUARTER, request.rate)
  return (pcm) => events.audio(resampler.process(pcm).slice(), request.rate)
}

function isRate(rate: number): rate is Rate {
  return RATES.includes(rate)
}
