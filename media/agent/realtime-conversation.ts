import { EngineError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { AgentVoice } from './agent-voice.js'
import { ConversationContext } from './context.js'
import { type Conversation, type ConversationOptions, type Mind, openConversation } from './conversation.js'
import type { Floor } from './floor.js'
import { promptOf } from './knowledge.js'
import type { SpeechToSpeech, TextToSpeech } from './ports.js'
import { RealtimeEars } from './realtime-ears.js'
import { RealtimeLink } from './realtime-link.js'
import { RealtimeReplies } from './realtime-replies.js'
import { CallerWords, EventLine } from './realtime-words.js'
import { declarations } from './tools.js'
import type { TurnTracer } from './trace.js'
import { plainWords } from './turn-late.js'
import type { TokenCount } from './usage.js'
import { EMBEDDED, EMBEDDED_VOICE, OPENAI_REALTIME } from './vendors/catalogue.js'

/** A line is one more thing for the model to say: longer than a synthesis takes, still below dead air. */
const LINE_WAIT_MS = 1800
/** After the window in which a machine may answer, its words may still be on their way. */
const VERDICT_MS = 4000

/** Nothing is added to what the vendor takes for the end of a turn. */
const AT_ONCE = { sure: 0, usual: 0, own: 0, most: 0 }

/**
 * A conversation with one model that hears, thinks and speaks, in the place of three vendors: the same
 * turn machine, voice and events. The model's own detector may end the caller's turns; who interrupts
 * whom is decided here, by our detector, as with every other agent. Throws EngineError `config_invalid`
 * when the agent names a vendor that is not configured.
 */
export function openRealtimeConversation(options: ConversationOptions): Conversation {
  const line = new EventLine(options.emit, options.clock)
  return openConversation({ ...options, emit: (event) => line.push(event) }, (given, floor) =>
    realtimeMind(given, floor, line),
  )
}

/** What the agent's model makes of a conversation: one model for all, or a vendor for each part. */
export function openAgent(options: ConversationOptions): Conversation {
  const whole = options.spec.languageModel.vendor === OPENAI_REALTIME
  return whole ? openRealtimeConversation(options) : openConversation(options)
}

function realtimeMind(options: ConversationOptions, floor: Floor, line: EventLine): Mind {
  const { spec, rate, vendors, clock, log, tools } = options
  const model = vendors.speechToSpeech(spec.languageModel.vendor)
  const words = new CallerWords()
  const context = new ConversationContext(promptOf(spec), spec.languages)
  let replies: RealtimeReplies | null = null
  let spent = (_tokens: TokenCount | null): void => {}
  const link = new RealtimeLink({
    model,
    open: {
      rate,
      model: spec.languageModel.model,
      voice: spec.textToSpeech.voice,
      pace: spec.textToSpeech.pace,
      language: spec.languages.length > 1 ? null : spec.speechToText.language,
      instructions: context.messages(null, [])[0]?.content ?? '',
      tools: declarations(spec.tools),
    },
    history: () => replies?.history() ?? [],
    quiet: () => floor.phase === 'listening',
    clock,
    log,
  })
  // While it rings: the opening line is said by the same model. What fails shows when the call starts.
  link.connect()
  const { windowSeconds, enabled } = spec.voicemail
  return {
    recogniser: new RealtimeEars({
      id: model.id,
      languages: spec.languages,
      link,
      words,
      turnEnd: model.capabilities.turnEnd,
      floor,
      clock,
      heard: () => line.look(),
      wordsFirst: () => enabled && floor.now() < windowSeconds * 1000 + VERDICT_MS,
    }),
    firstTokenDeadlineMs: model.capabilities.firstAudioDeadlineMs,
    voices: [
      {
        tts: lineVoice(link, model, log, (tokens) => spent(tokens)),
        voice: spec.textToSpeech.voice,
        model: spec.textToSpeech.model,
        pace: spec.textToSpeech.pace,
        get waitMs() {
          return replies?.silent ? 0 : LINE_WAIT_MS
        },
      },
      { tts: vendors.textToSpeech(EMBEDDED), voice: EMBEDDED_VOICE, model: null, pace: 1, embedded: true },
    ],
    policy: {
      waitMs: { closed: AT_ONCE, open: AT_ONCE, spelling: AT_ONCE },
      openness: () => 'closed',
      // The first sound of a model that speaks takes as long as two tries of one that writes.
      modelAttempts: 2,
      // Its own words are the ones for the wait: a line between would have to be taken back.
      modelSlowMs: Number.POSITIVE_INFINITY,
    },
    replies: (voice: AgentVoice, tracer: TurnTracer) => {
      const { vendor, model: name } = spec.languageModel
      spent = (tokens) => {
        tracer.asked(vendor, name)
        tracer.answered(vendor, name, tokens)
      }
      replies = new RealtimeReplies({ spec, rate, link, words, line, context, tools, voice, floor, tracer })
      return replies
    },
  }
}

/** The model reads a line aloud, beside the conversation. */
function lineVoice(
  link: RealtimeLink,
  { id }: SpeechToSpeech,
  log: Log,
  spent: (tokens: TokenCount | null) => void,
): TextToSpeech {
  return {
    id,
    firstAudioDeadlineMs: LINE_WAIT_MS,
    speak: ({ text }, events) => {
      let sounded = false
      let said = ''
      return link.say(text, {
        audio: (_item, pcm, rate) => {
          sounded = true
          events.audio(pcm, rate)
        },
        words: (_item, piece) => {
          said += piece
        },
        progress: () => {},
        done: (_calls, tokens) => {
          spent(tokens)
          if (!alike(text, said)) log.warn({ vendor: id }, 'the model did not say a line as it is written')
          if (sounded) events.done()
          else
            events.failed(new EngineError('vendor_failed', 'the vendor sent no sound', { retryable: true }))
        },
        failed: (error) => events.failed(error),
      })
    },
  }
}

/** Most of the words are there; numbers and names are written in more than one way. */
function alike(text: string, said: string): boolean {
  const heard = new Set(plainWords(said))
  const words = plainWords(text)
  return words.filter((word) => heard.has(word)).length >= words.length / 2
}
