import { Persona } from '../../media/agent/persona.js'
import { openAgent } from '../../media/agent/realtime/realtime-conversation.js'
import type { Digit } from '../../media/base/frame.js'
import { withSandboxScript } from '../../media/vendors/embedded/stt.js'
import type { Party } from '../channel/protocol.js'
import { BotParty } from './bot-party.js'
import { type HostedParty, PARTY, type PartyContext } from './party-context.js'
import { openVoice } from './session-voice.js'

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
      return new BotParty(party, context, (agent) => openAgentParty({ kind: 'agent', agent }, context))
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

function openAgentParty(party: Extract<Party, { kind: 'agent' }>, context: PartyContext): HostedParty {
  const { vendors, breakers, phrases, vad, turnDetector, noiseSuppression, clock, log, settings } =
    context.host
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
    noiseSuppression,
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
    agent: party.agent,
    detected: (event) => conversation.detected(event),
    prepare: () => conversation.prepare(),
    start: () => conversation.start(context.nowMs()),
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
