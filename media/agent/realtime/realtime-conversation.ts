import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import {
  type Conversation,
  type ConversationOptions,
  openConversation,
  type ReplyModel,
} from '../conversation/conversation.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TokenCount } from '../conversation/usage-meter.js'
import { fallbackRecognisers, openModelChain } from '../conversation/vendor-cascade.js'
import { plainWords } from '../language/plain-words.js'
import { ConversationContext } from '../llm/conversation-context.js'
import { promptOf } from '../llm/knowledge.js'
import { LlmReplySource } from '../llm/llm-reply-source.js'
import type { ModelChain } from '../llm/model-chain.js'
import type { RecogniserChoice } from '../stt/stt-failover.js'
import { toolDeclarations } from '../tools/tool-calls.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import { fallbackVoices } from '../tts/voices.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { SpeechToSpeech, SpeechToText, TextToSpeech } from '../vendor-ports.js'
import { OPENAI_REALTIME } from '../vendors/catalogue.js'
import { CallerTranscripts, EventQueue } from './caller-transcripts.js'
import { RealtimeConnection } from './realtime-connection.js'
import { FailoverReplySource } from './realtime-failover.js'
import { RealtimeReplySource } from './realtime-reply-source.js'
import { RealtimeTranscriber } from './realtime-transcriber.js'

/** A line is one more thing for the model to say: longer than a synthesis takes, still below dead air. */
const PHRASE_WAIT_MS = 1800
/** After the window in which a machine may answer, its words may still be on their way. */
const VERDICT_MS = 4000

/** The first sound of a model that speaks takes as long as two tries of one that writes. */
const OWN_ATTEMPTS = 2

/** Nothing is added to what the vendor takes for the end of a turn. */
const AT_ONCE = { ifFinished: 0, usual: 0, maxFromPauses: 0, ifContinuing: 0 }

/**
 * A conversation with one model that hears, thinks and speaks, in the place of three vendors: the same
 * turn machine, voice and events. The model's own detector may end the caller's turns; who interrupts
 * whom is decided here, by our detector, as with every other agent. Throws EngineError `config_invalid`
 * when the agent names a vendor that is not configured.
 */
export function openRealtimeConversation(options: ConversationOptions): Conversation {
  const line = new EventQueue(options.emit, options.clock)
  return openConversation({ ...options, emit: (event) => line.push(event) }, (given, floor) =>
    realtimeReplyModel(given, floor, line),
  )
}

/** What the agent's model makes of a conversation: one model for all, or a vendor for each part. */
export function openAgent(options: ConversationOptions): Conversation {
  const whole = options.spec.languageModel.vendor === OPENAI_REALTIME
  return whole ? openRealtimeConversation(options) : openConversation(options)
}

function realtimeReplyModel(options: ConversationOptions, floor: TurnContext, line: EventQueue): ReplyModel {
  const { spec, rate, vendors, clock, log, tools } = options
  const model = vendors.speechToSpeech(spec.languageModel.vendor)
  const words = new CallerTranscripts()
  const context = new ConversationContext(promptOf(spec), spec.languages)
  const spares = fallbackParts(options, floor)
  let own: RealtimeReplySource | null = null
  let replies: FailoverReplySource | null = null
  let spent = (_tokens: TokenCount | null): void => {}
  const over = () => replies?.failedOver ?? false
  const link = new RealtimeConnection({
    model,
    open: {
      rate,
      model: spec.languageModel.model,
      voice: spec.textToSpeech.voice,
      pace: spec.textToSpeech.pace,
      language: spec.languages.length > 1 ? null : spec.speechToText.language,
      instructions: context.messages(null, [])[0]?.content ?? '',
      tools: toolDeclarations(spec.tools),
    },
    history: () => own?.history() ?? [],
    idle: () => floor.phase === 'listening',
    clock,
    log,
  })
  // While it rings: the opening line is said by the same model. What fails shows when the call starts.
  link.connect()
  const { windowSeconds, enabled } = spec.voicemail
  const ears = new RealtimeTranscriber({
    id: model.id,
    languages: spec.languages,
    connection: link,
    transcripts: words,
    turnEnd: model.capabilities.turnEnd,
    turnContext: floor,
    clock,
    transcriptResolved: () => line.advance(),
    modelGone: over,
    awaitWords: () => enabled && floor.now() < windowSeconds * 1000 + VERDICT_MS,
  })
  const { model: heardBy, mode, languages = null } = spec.speechToText
  return {
    recogniser: ears,
    fallbackRecognisers:
      spares === null
        ? []
        : [
            // A connection may be lost; the next one is the same model's.
            { recogniser: ears, model: heardBy, mode, languages },
            ...spares.recognisers.map((choice) => ({
              ...choice,
              recogniser: opening(choice.recogniser, () => replies?.failOver()),
            })),
          ],
    get firstTokenDeadlineMs() {
      return over() && spares ? spares.models.firstTokenDeadlineMs : model.capabilities.firstAudioDeadlineMs
    },
    get models() {
      return (over() ? 0 : 1) + (spares?.models.size ?? 0)
    },
    voices: [
      {
        tts: phraseVoice(link, model, log, (tokens) => spent(tokens)),
        voice: spec.textToSpeech.voice,
        model: spec.textToSpeech.model,
        pace: spec.textToSpeech.pace,
        get firstAudioLimitMs() {
          return own?.unresponsive ? 0 : PHRASE_WAIT_MS
        },
        get unavailable() {
          return over()
        },
      },
      ...fallbackVoices(spec, vendors),
    ],
    get policy() {
      // The spares' own tries come after those of the model that hears and speaks.
      const modelAttempts = OWN_ATTEMPTS + (spares === null ? 0 : Math.max(3, spares.models.size + 1))
      if (over()) return { modelAttempts }
      return {
        waitMs: { closed: AT_ONCE, open: AT_ONCE, spelling: AT_ONCE },
        openness: () => 'closed' as const,
        modelAttempts,
        modelFirstTokenMs: model.capabilities.firstAudioDeadlineMs,
        // Its own words are the ones for the wait: a line between would have to be taken back.
        modelSlowMs: Number.POSITIVE_INFINITY,
      }
    },
    replies: (voice: AgentSpeech, tracer: TurnTracer) => {
      const { vendor, model: name } = spec.languageModel
      spent = (tokens) => {
        tracer.modelRequested(vendor, name)
        tracer.modelAnswered(vendor, name, tokens)
      }
      const answered = () => {
        ears.answered()
        replies?.answered()
      }
      const parts = {
        spec,
        rate,
        connection: link,
        transcripts: words,
        eventQueue: line,
        context,
        tools,
        speech: voice,
        turnContext: floor,
        tracer,
      }
      const first = new RealtimeReplySource({ ...parts, answered })
      own = first
      if (spares === null) return first
      replies = new FailoverReplySource({
        own: first,
        ownId: vendor,
        transcripts: words,
        context,
        fallbackId: spares.models.first,
        openFallback: () => {
          const before = first.handOver()
          return new LlmReplySource({
            spec,
            models: spares.models,
            tools,
            speech: voice,
            turnContext: floor,
            tracer,
            before,
          })
        },
        onFailover: () => {
          log.warn(
            { conversation: options.id, vendor, instead: spares.models.first },
            'the model is given up',
          )
          link.close()
          ears.giveUp(new EngineError('vendor_unreachable', 'the model is gone'))
        },
      })
      return replies
    },
  }
}

/** Who hears and thinks when the model is gone; null when that is nobody. */
function fallbackParts(
  { spec, vendors, clock }: ConversationOptions,
  floor: TurnContext,
): { readonly recognisers: readonly RecogniserChoice[]; readonly models: ModelChain } | null {
  const [model, ...others] = spec.fallbacks?.languageModel ?? []
  const recognisers = fallbackRecognisers(spec, vendors)
  if (model === undefined || recognisers.length === 0) return null
  return { recognisers, models: openModelChain([model, ...others], { vendors, clock, floor }) }
}

/** Tells when it is asked to listen. */
function opening(recogniser: SpeechToText, asked: () => void): SpeechToText {
  return {
    id: recogniser.id,
    open: (options, events) => {
      asked()
      return recogniser.open(options, events)
    },
  }
}

/** The model reads a line aloud, beside the conversation. */
function phraseVoice(
  link: RealtimeConnection,
  { id }: SpeechToSpeech,
  log: Log,
  spent: (tokens: TokenCount | null) => void,
): TextToSpeech {
  return {
    id,
    firstAudioDeadlineMs: PHRASE_WAIT_MS,
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
