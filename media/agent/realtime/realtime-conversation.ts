import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { isSpeechToSpeech } from '../../vendors/vendor-ids.js'
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
import type { RecogniserChoice } from '../stt/stt-stream.js'
import { toolDeclarations } from '../tools/tool-calls.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import { fallbackVoices } from '../tts/voices.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { SpeechToSpeech, SpeechToText, TextToSpeech } from '../vendor-ports.js'
import { CallerTranscripts, EventQueue } from './caller-transcripts.js'
import { RealtimeConnection } from './realtime-connection.js'
import { FailoverReplySource } from './realtime-failover.js'
import { RealtimeReplySource } from './realtime-reply-source.js'
import { RealtimeTranscriber } from './realtime-transcriber.js'

/**
 * First-audio deadline (ms) of a phrase. The model is slower than a TTS, but this is still below dead air.
 */
const PHRASE_WAIT_MS = 1800
/** Words of a machine may arrive this long after the detection window. */
const VERDICT_MS = 4000

/** The first audio of this model takes as long as two attempts of an LLM. */
const OWN_ATTEMPTS = 2

/** Adds no wait to the vendor's own end of turn. */
const AT_ONCE = { ifFinished: 0, usual: 0, maxFromPauses: 0, ifContinuing: 0 }

/**
 * Opens a conversation with one speech-to-speech model in place of STT, LLM and TTS. The turn machine, speech
 * and events are the same. The model may detect the end of the caller's turns, but our own VAD decides about
 * barge-in. Throws EngineError `config_invalid` when the agent names an unconfigured vendor.
 */
export function openRealtimeConversation(options: ConversationOptions): Conversation {
  const eventQueue = new EventQueue(options.emit, options.clock)
  return openConversation({ ...options, emit: (event) => eventQueue.push(event) }, (given, turnContext) =>
    realtimeReplyModel(given, turnContext, eventQueue),
  )
}

/** Opens the conversation that fits the agent's model: speech to speech, or a cascade. */
export function openAgent(options: ConversationOptions): Conversation {
  const speechToSpeech = isSpeechToSpeech(options.spec.languageModel.vendor)
  return speechToSpeech ? openRealtimeConversation(options) : openConversation(options)
}

function realtimeReplyModel(
  options: ConversationOptions,
  turnContext: TurnContext,
  eventQueue: EventQueue,
): ReplyModel {
  const { spec, rate, vendors, breakers, clock, log, tools } = options
  const model = vendors.speechToSpeech(spec.languageModel.vendor)
  const transcripts = new CallerTranscripts()
  const context = new ConversationContext(promptOf(spec), spec.languages)
  const fallbacks = fallbackParts(options, turnContext)
  let own: RealtimeReplySource | null = null
  let replies: FailoverReplySource | null = null
  let countTokens = (_tokens: TokenCount | null): void => {}
  const failedOver = () => replies?.failedOver ?? false
  const connection = new RealtimeConnection({
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
    idle: () => turnContext.phase === 'listening',
    clock,
    log,
  })
  // Connects while the call rings because the model also speaks the opening line. A failure shows when the
  // call starts.
  connection.connect()
  const { windowSeconds, enabled } = spec.voicemail
  const transcriber = new RealtimeTranscriber({
    id: model.id,
    languages: spec.languages,
    connection,
    transcripts,
    turnEnd: model.capabilities.turnEnd,
    turnContext,
    clock,
    transcriptResolved: () => eventQueue.advance(),
    modelGone: failedOver,
    awaitWords: () => enabled && turnContext.now() < windowSeconds * 1000 + VERDICT_MS,
  })
  const { model: sttModel, mode, languages = null } = spec.speechToText
  return {
    recogniser: transcriber,
    fallbackRecognisers:
      fallbacks === null
        ? []
        : [
            // A connection may be lost. The first fallback is a new connection to the same model.
            { recogniser: transcriber, model: sttModel, mode, languages },
            ...fallbacks.recognisers.map((choice) => ({
              ...choice,
              recogniser: onOpen(choice.recogniser, () => replies?.failOver()),
            })),
          ],
    get firstTokenDeadlineMs() {
      return failedOver() && fallbacks
        ? fallbacks.models.firstTokenDeadlineMs
        : model.capabilities.firstAudioDeadlineMs
    },
    get models() {
      return (failedOver() ? 0 : 1) + (fallbacks?.models.size ?? 0)
    },
    voices: [
      {
        tts: phraseVoice(connection, model, log, (tokens) => countTokens(tokens)),
        voice: spec.textToSpeech.voice,
        model: spec.textToSpeech.model,
        pace: spec.textToSpeech.pace,
        get firstAudioLimitMs() {
          return own?.unresponsive ? 0 : PHRASE_WAIT_MS
        },
        get unavailable() {
          return failedOver()
        },
      },
      ...fallbackVoices(spec, vendors),
    ],
    get policy() {
      // Attempts of the fallback models follow those of the speech-to-speech model.
      const modelAttempts = OWN_ATTEMPTS + (fallbacks === null ? 0 : Math.max(3, fallbacks.models.size + 1))
      if (failedOver()) return { modelAttempts }
      return {
        waitMs: { closed: AT_ONCE, open: AT_ONCE, spelling: AT_ONCE },
        openness: () => 'closed' as const,
        modelAttempts,
        modelFirstTokenMs: model.capabilities.firstAudioDeadlineMs,
        // The model speaks its own filler. A phrase of ours would have to be withdrawn.
        modelSlowMs: Number.POSITIVE_INFINITY,
      }
    },
    replies: (speech: AgentSpeech, tracer: TurnTracer) => {
      const { vendor, model: name } = spec.languageModel
      countTokens = (tokens) => {
        tracer.modelRequested(vendor, name)
        tracer.modelAnswered(vendor, name, tokens)
      }
      const answered = () => {
        transcriber.answered()
        replies?.answered()
      }
      const parts = {
        spec,
        rate,
        connection,
        transcripts,
        eventQueue,
        context,
        tools,
        speech,
        turnContext,
        tracer,
        breakers,
      }
      const first = new RealtimeReplySource({ ...parts, answered })
      own = first
      if (fallbacks === null) return first
      replies = new FailoverReplySource({
        own: first,
        transcripts,
        context,
        fallbackId: fallbacks.models.first,
        openFallback: () => {
          const before = first.handOver()
          return new LlmReplySource({
            spec,
            models: fallbacks.models,
            tools,
            speech,
            turnContext,
            tracer,
            before,
          })
        },
        onFailover: () => {
          log.warn(
            { conversation: options.id, vendor, instead: fallbacks.models.first },
            'realtime.model_given_up',
          )
          connection.close()
          transcriber.giveUp(new EngineError('vendor_unreachable', 'the realtime model was given up'))
        },
      })
      return replies
    },
  }
}

/** Returns the recognisers and models for the time after the model failed, or null when there are none. */
function fallbackParts(
  { spec, vendors, breakers }: ConversationOptions,
  turnContext: TurnContext,
): { readonly recognisers: readonly RecogniserChoice[]; readonly models: ModelChain } | null {
  const [model, ...others] = spec.fallbacks?.languageModel ?? []
  const recognisers = fallbackRecognisers(spec, vendors)
  if (model === undefined || recognisers.length === 0) return null
  return { recognisers, models: openModelChain([model, ...others], { vendors, breakers, turnContext }) }
}

/** Wraps a recogniser and reports when it is opened. */
function onOpen(recogniser: SpeechToText, opened: () => void): SpeechToText {
  return {
    id: recogniser.id,
    open: (options, events) => {
      opened()
      return recogniser.open(options, events)
    },
  }
}

/** Returns a TTS in which the model reads a phrase aloud, outside the conversation. */
function phraseVoice(
  connection: RealtimeConnection,
  { id }: SpeechToSpeech,
  log: Log,
  countTokens: (tokens: TokenCount | null) => void,
): TextToSpeech {
  return {
    id,
    firstAudioDeadlineMs: PHRASE_WAIT_MS,
    speak: ({ text }, events) => {
      let hasAudio = false
      let said = ''
      return connection.say(text, {
        audio: (_item, pcm, rate) => {
          hasAudio = true
          events.audio(pcm, rate)
        },
        words: (_item, piece) => {
          said += piece
        },
        progress: () => {},
        done: (_calls, tokens) => {
          countTokens(tokens)
          if (!similar(text, said)) log.warn({ vendor: id }, 'realtime.phrase_misread')
          if (hasAudio) events.done()
          else
            events.failed(new EngineError('vendor_failed', 'the vendor sent no audio', { retryable: true }))
        },
        failed: (error) => events.failed(error),
      })
    },
  }
}

/** Returns whether most of the words match. Numbers and names have several spellings. */
function similar(text: string, said: string): boolean {
  const heard = new Set(plainWords(said))
  const words = plainWords(text)
  return words.filter((word) => heard.has(word)).length >= words.length / 2
}
