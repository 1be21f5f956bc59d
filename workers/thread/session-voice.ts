import type { VoiceSpec } from '../../media/agent/agent-spec.js'
import { Announcer } from '../../media/agent/announcer.js'
import type { UsageMeter } from '../../media/agent/conversation/usage-meter.js'
import { announcerVoices } from '../../media/agent/tts/voices.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { EndpointId } from '../../media/session/endpoint.js'
import type { SessionEvent } from '../channel/protocol.js'
import type { SessionHost } from './session-host.js'

/** The session in which a voice speaks. */
export interface VoiceContext {
  readonly host: Pick<SessionHost, 'vendors' | 'breakers' | 'clock'>
  readonly rate: SessionRate
  readonly emit: (event: SessionEvent) => void
  /** Returns the time of the session (ms). */
  readonly nowMs: () => number
  readonly usage: UsageMeter
}

/** Opens a voice that says texts in a session. It reports failures of its vendors as `trouble`. */
export function openVoice(id: EndpointId, spec: VoiceSpec, context: VoiceContext): Announcer {
  const { host, rate, emit, nowMs, usage } = context
  const { vendors, breakers, clock } = host
  return new Announcer({
    id,
    languages: spec.languages,
    voices: announcerVoices(spec, vendors),
    rate,
    breakers,
    clock,
    requested: ({ tts, model }, characters) => usage.textSynthesised(tts.id, model, characters),
    onFailure: ({ code, message }, vendor, instead) =>
      emit({
        type: 'trouble',
        part: 'text_to_speech',
        code,
        message,
        vendor,
        ...(instead === null ? {} : { instead }),
        atMs: nowMs(),
      }),
  })
}
