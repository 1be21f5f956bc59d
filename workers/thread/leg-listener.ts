import type { AgentSpec, SpeakerScript } from '../../media/agent/agent-spec.js'
import type { CircuitBreakers } from '../../media/agent/circuit-breaker.js'
import type { UsageMeter } from '../../media/agent/conversation/usage-meter.js'
import { fallbackRecognisers } from '../../media/agent/conversation/vendor-cascade.js'
import { Listener } from '../../media/agent/stt/listener.js'
import type { Vendors } from '../../media/agent/vendor-ports.js'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { VadFactory } from '../../media/vad/vad.js'
import { withSandboxScript } from '../../media/vendors/embedded/stt.js'
import type { LegId, SessionEvent } from '../channel/protocol.js'

/** The session as a leg listener uses it. */
export interface LegListenerOptions {
  /** The agent whose recognisers are used. */
  readonly agent: AgentSpec | null
  readonly leg: LegId
  readonly languages: readonly string[]
  /** The script of a simulated person, which the sandbox recogniser reads. */
  readonly script: SpeakerScript | null
  readonly rate: SessionRate
  readonly vendors: Vendors
  readonly breakers: CircuitBreakers
  readonly vad: VadFactory
  readonly clock: Clock
  readonly now: () => number
  readonly emit: (event: SessionEvent) => void
  readonly usage: UsageMeter
}

/**
 * Recognises a leg with the recognisers of the agent, and reports each utterance. Throws EngineError `config_invalid` when
 * the party has no recogniser or no language is given.
 */
export function openLegListener(options: LegListenerOptions): Listener {
  const { agent: spec, leg, script, rate, breakers, vad, clock, now, emit, usage } = options
  const [first, ...others] = options.languages
  if (spec === null || first === undefined) {
    throw new EngineError('config_invalid', 'the party of the session recognises no speech')
  }
  const vendors = withSandboxScript(options.vendors, () => script)
  const { vendor, model, mode, languages = null } = spec.speechToText
  return new Listener({
    rate,
    languages: [first, ...others],
    vocabulary: spec.vocabulary ?? [],
    recognisers: [
      { recogniser: vendors.speechToText(vendor), model, mode, languages },
      ...fallbackRecognisers(spec, vendors),
    ],
    breakers,
    vad,
    clock,
    now,
    used: (vendor, model, ms) => usage.audioRecognised(vendor, model, ms),
    heard: (words) => emit({ type: 'heard', leg, ...words, atMs: now() }),
    failed: ({ code, message }, vendor, instead) =>
      emit({
        type: 'trouble',
        part: 'speech_to_text',
        code,
        message,
        ...(vendor === null ? {} : { vendor }),
        ...(instead === null ? {} : { instead }),
        atMs: now(),
      }),
  })
}
