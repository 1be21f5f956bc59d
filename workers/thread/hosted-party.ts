import type { SpeakerScript } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import { Persona } from '../../media/agent/persona.js'
import { openAgent } from '../../media/agent/realtime/realtime-conversation.js'
import type { Announcement } from '../../media/agent/turn/turn-types.js'
import { EngineError } from '../../media/base/errors.js'
import type { Digit, DtmfTiming } from '../../media/base/frame.js'
import { BotEndpoint } from '../../media/byo/bot-endpoint.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { Endpoint } from '../../media/session/endpoint.js'
import { withSandboxScript } from '../../media/vendors/embedded/stt.js'
import type { Party } from '../channel/protocol.js'
import type { SessionHost } from './session-host.js'
import { openVoice, type VoiceContext } from './session-voice.js'
import type { ToolRequests } from './tool-requests.js'

/** Id of the endpoint of the party on our side. */
export const PARTY = 'party'

/** The party on our side. */
export interface HostedParty {
  readonly endpoint: Endpoint
  prepare(): Promise<void>
  start(sipCallId: string | null): void
  transferUpdate?(update: TransferUpdate): void
  /** Says a text to the caller; see `Conversation.say`. */
  say?(announcement: Announcement): Promise<SayResult>
  /** See `Conversation.note`. */
  note?(text: string): boolean
  /** See `Conversation.setAway`. */
  setAway?(away: boolean): void
  /** Takes a detector event of the far side. */
  detected?(event: DetectorEvent): void
  /** See `FrameClockMember.ready`. */
  ready?(): boolean
}

/** What a party needs of its session. */
export interface PartyContext extends VoiceContext {
  readonly host: SessionHost
  readonly tools: ToolRequests
  /** Returns the script that the sandbox recogniser reads for a simulated caller. */
  readonly sandboxScript: () => SpeakerScript | null
  /** Sends digits to the caller. Returns false when they cannot be sent. */
  readonly sendDigits: (digits: readonly Digit[], timing?: DtmfTiming) => boolean
  /** Advances the clock phase of the session (ms). Returns false when that is not possible. */
  readonly advancePhase: (ms: number) => boolean
  /** Sends the last frame of an interrupted agent at once. */
  readonly flushEarly: () => void
  /** Tells the frame clock that a late frame has arrived. */
  readonly audioReady: () => void
  /** Stops the packets to the caller. */
  readonly stopMedia: () => void
  readonly isClosed: () => boolean
  /** Ends the session after an uncaught error. */
  readonly onFault: (error: unknown) => void
}

/** Opens the party on our side. Returns null when the legs talk with each other only. */
export function openParty(party: Party, context: PartyContext): HostedParty | null {
  switch (party.kind) {
    case 'none':
      return null
    case 'speaker':
      return openSpeaker(party, context)
    case 'agent':
      return openAgentParty(party, context)
    case 'persona':
      return openPersona(party, context)
    case 'bot':
      return openBot(party, context)
  }
}

function openSpeaker(
  { voice, text: script }: Extract<Party, { kind: 'speaker' }>,
  context: PartyContext,
): HostedParty {
  const { emit, isClosed } = context
  const speaker = openVoice(PARTY, voice, context)
  return {
    endpoint: speaker,
    prepare: async () => {},
    start: () => {
      if (script === undefined) return
      void speaker.say(script).then((result) => {
        // A cut means that something else is said, or that the session closes.
        if (result !== 'cut') emit({ type: 'hang_up' })
      })
    },
    say: async ({ text, last }) => {
      const result = text === null ? 'said' : await speaker.say(text)
      if (last && !isClosed()) emit({ type: 'finished', why: 'asked' })
      return result
    },
  }
}

function openBot({ bot }: Extract<Party, { kind: 'bot' }>, context: PartyContext): HostedParty {
  const { clock, log, names, settings } = context.host
  const endpoint = new BotEndpoint({
    id: PARTY,
    spec: bot,
    rate: context.rate,
    clock,
    log,
    // The organization, as bots know it: names that hang delay only its own calls.
    lookup: names.lookupOf(bot.accountId),
    allowPrivate: settings.allowPrivateUrls,
    emit: context.emit,
    sendDigits: context.sendDigits,
    advancePhase: context.advancePhase,
    audioReady: context.audioReady,
    onFault: context.onFault,
  })
  return {
    endpoint,
    // Inbound: connect to the bot before answering. Outbound: connect only once the callee answers.
    prepare: async () => {
      if (bot.direction === 'inbound' && !(await endpoint.connect())) {
        throw new EngineError('vendor_unreachable', 'the bot is unreachable')
      }
    },
    start: (sipCallId) => endpoint.start(sipCallId),
    transferUpdate: (update) => endpoint.transferUpdate(update),
    ready: () => endpoint.ready(),
  }
}

function openAgentParty(party: Extract<Party, { kind: 'agent' }>, context: PartyContext): HostedParty {
  const { vendors, breakers, phrases, vad, turnDetector, clock, log, settings } = context.host
  const { tools, sendDigits } = context
  const conversation = openAgent({
    id: PARTY,
    spec: party.agent,
    rate: context.rate,
    vendors: withSandboxScript(vendors, context.sandboxScript),
    breakers,
    phrases,
    vad,
    turnDetector,
    speculate: settings.speculate,
    clock,
    emit: context.emit,
    log,
    flushEarly: context.flushEarly,
    tools: {
      run: (request, done) => tools.run(request, done),
      serve: (request, done) => tools.run(request, done),
      press: (digits) => sendDigits([...digits] as Digit[]),
    },
    onFault: context.onFault,
  })
  return {
    endpoint: conversation,
    detected: (event) => conversation.detected(event),
    prepare: () => conversation.prepare(),
    start: () => conversation.start(),
    say: (announcement) => conversation.say(announcement),
    note: (text) => conversation.note(text),
    setAway: (away) => conversation.setAway(away),
  }
}

function openPersona(party: Extract<Party, { kind: 'persona' }>, context: PartyContext): HostedParty {
  const { vad, clips } = context.host
  const { rate, sendDigits, emit, stopMedia } = context
  const persona = new Persona({
    id: PARTY,
    spec: party.persona,
    rate,
    vad,
    loadClip: (name) => clips.load(name, rate),
    // A digit that cannot be sent is lost, as with a real telephone.
    press: (digits) => void sendDigits(digits),
    hangUp: () => emit({ type: 'hang_up' }),
    stopMedia,
  })
  return {
    endpoint: persona,
    prepare: () => persona.prepare(),
    start: () => persona.start(),
  }
}
