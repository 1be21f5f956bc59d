/*
 * What a media worker is told about the party it plays. Plain data: it crosses a thread.
 */

/** A word and where it sounds, in ms from the start of the thing that carries it. */
export interface TimedWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
}

/** What recognition writes: the words as spoken, in English, or each in the script of its own language. */
export type RecognitionMode = 'transcribe' | 'translate' | 'codemix'

/** Where a secret goes in a request. Its value is not here: the spec crosses threads and may be logged. */
export interface HttpToolAuth {
  readonly type: 'none' | 'bearer' | 'basic' | 'api_key'
  /** `api_key`: a header or the query; null is a header. */
  readonly in: 'header' | 'query' | null
  /** `api_key`: name of the header or query parameter. `basic`: the user name. */
  readonly name: string | null
  /** Header of a bearer token, when it is not `Authorization`. */
  readonly header: string | null
  readonly secretId: string | null
  readonly secondary: {
    readonly in: 'header' | 'query'
    readonly name: string
    readonly secretId: string
  } | null
}

/** The request of an HTTP tool (contract 2.6). The address was public https when it was saved. */
export interface HttpToolRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  /** 1,000 to 20,000. */
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
  readonly bodyFormat: 'json' | 'form'
  /** The arguments stand under this name in the body; null: they are the body. */
  readonly bodyRoot: string | null
  readonly auth: HttpToolAuth | null
  /** The connection whose secret is sent, instead of `auth.secretId`. */
  readonly connectionId: string | null
}

/** Presets that other parts of the service carry out. */
export type ServicePreset = 'transfer_call' | 'send_dtmf' | 'opt_out' | 'schedule_callback'

export type ToolAction =
  /** Ends the call after the words of the same answer were spoken. */
  | { readonly kind: 'end_call' }
  | { readonly kind: 'mock'; readonly response: string }
  | { readonly kind: 'http'; readonly request: HttpToolRequest }
  | { readonly kind: ServicePreset }

export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: readonly {
    readonly name: string
    readonly description: string
    readonly type: 'string' | 'number' | 'integer' | 'boolean'
    readonly required: boolean
  }[]
  /** Said while the tool runs, by language tag. */
  readonly speech: Readonly<Record<string, string>>
  readonly action: ToolAction
}

/** Which person a call can be handed to. Every destination exists; whether it is verified shows later. */
export interface TransferSpec {
  readonly handoff: 'cold' | 'warm'
  readonly blindTransfers: boolean
  readonly defaultDestinationId: string | null
  readonly destinations: readonly {
    readonly destinationId: string
    readonly fallbackDestinationId: string | null
    readonly when: string
  }[]
  /** The key by which a caller asks for a person. */
  readonly dtmfKey: string | null
  readonly preTransferLine: string | null
  readonly afterMissLine: string | null
  readonly recordHumanSegment: boolean
  /** Plain wishes ("a person, please") ask for a transfer. */
  readonly requestPhrases: boolean
  readonly ringTimeoutSeconds: number
}

/** A language model of a vendor. */
export interface ChosenModel {
  readonly vendor: string
  readonly model: string
  /** Tokens of a prompt and its answer together; absent: what is usual. */
  readonly windowTokens?: number
}

/** A voice that speaks when the agent's own does not, and in what languages it can. */
export interface FallbackVoice {
  readonly vendor: string
  readonly model: string | null
  readonly voice: string
  readonly pace: number
  readonly languages: readonly string[]
}

export interface FallbackRecogniser {
  readonly vendor: string
  readonly model: string | null
  readonly mode: RecognitionMode
  readonly languages: readonly string[]
}

/** Who goes on when a vendor of the agent's own fails: each in the order in which they are asked. */
export interface FallbackVendors {
  readonly speechToText: readonly FallbackRecogniser[]
  readonly languageModel: readonly ChosenModel[]
  /** The embedded voice stands behind them by itself. */
  readonly textToSpeech: readonly FallbackVoice[]
}

/**
 * Knowledge that stands whole in the prompt. A knowledge base that is searched during the call will be
 * another `mode`.
 */
export interface KnowledgeText {
  readonly mode: 'inline'
  /** Of the knowledge base or document. */
  readonly name: string
  readonly text: string
}

/** One agent version, with variables filled in, as a conversation runs it. */
export interface AgentSpec {
  readonly agentId: string
  readonly agentVersionId: string
  readonly name: string
  readonly systemPrompt: string
  /** Spoken first, as soon as media is live; null lets the caller begin. */
  readonly openingLine: string | null
  /** Spoken to the end before a hang-up by the agent or by a limit; null hangs up at once. */
  readonly hangupLine: string | null
  /** What the agent speaks. First is the default. Tags of the contract: `en-IN`, `hi-IN`, ... */
  readonly languages: readonly string[]
  readonly speechToText: {
    readonly vendor: string
    readonly model: string | null
    /** The language that is listened for. */
    readonly language: string
    readonly mode: RecognitionMode
    /** What the model understands; absent: whatever it is opened for. */
    readonly languages?: readonly string[]
  }
  readonly textToSpeech: {
    readonly vendor: string
    readonly model: string | null
    readonly voice: string
    readonly pace: number
    /** As far as the catalogue knows it. */
    readonly gender?: 'female' | 'male' | 'neutral'
    /** What the voice speaks; absent: all of the agent's. */
    readonly languages?: readonly string[]
  }
  readonly languageModel: ChosenModel
  /** What it answers from, in order of importance; absent: nothing but its prompt. */
  readonly knowledge?: readonly KnowledgeText[]
  readonly tools: readonly ToolSpec[]
  readonly nudges: {
    readonly enabled: boolean
    readonly hangupAfter: boolean
    readonly steps: readonly { readonly afterSeconds: number; readonly text: string }[]
  }
  /** Ambience under the agent's voice; volume 0 to 1. */
  readonly background: {
    readonly sound: 'none' | 'office' | 'cafe' | 'call_center'
    readonly volume: number
  }
  /** Listen for an answering machine in the first seconds. */
  readonly voicemail: { readonly enabled: boolean; readonly windowSeconds: number }
  readonly transfer: TransferSpec
  readonly fallbacks?: FallbackVendors
  readonly maxCallSeconds: number
}

/** Neither ambience nor answering machines nor transfers: what a plain conversation runs with. */
export const PLAIN_SETTINGS: Pick<AgentSpec, 'background' | 'voicemail' | 'transfer'> = {
  background: { sound: 'none', volume: 0 },
  voicemail: { enabled: false, windowSeconds: 8 },
  transfer: {
    handoff: 'cold',
    blindTransfers: false,
    defaultDestinationId: null,
    destinations: [],
    dtmfKey: null,
    preTransferLine: null,
    afterMissLine: null,
    recordHumanSegment: false,
    requestPhrases: false,
    ringTimeoutSeconds: 25,
  },
}

/** One clip a simulated speaker says, in the order of the script. */
export interface ScriptedUtterance {
  /** Name of the clip in `fixtures/speech`. */
  readonly clip: string
  readonly text: string
  readonly language: string
  /** Words in ms from the clip's first sample; empty for a cough or other noise. */
  readonly words: readonly TimedWord[]
  /** Labelled first and last voiced sample of the clip, in ms. */
  readonly onsetMs: number
  readonly offsetMs: number
}

export interface SpeakerScript {
  readonly utterances: readonly ScriptedUtterance[]
  /**
   * A speaker who loops (`PersonaSpec.loopFrom`) begins again at this utterance after the last one;
   * absent when nothing more is said. Sandbox recognition places repeated speech by it.
   */
  readonly repeatFrom?: number
}

/** When a simulated far end does its next step. */
export type PersonaCue =
  /** After the agent spoke and then was silent for this long. */
  | { readonly kind: 'agent_silent'; readonly ms: number }
  /** This long after the agent began to speak: in the middle of its sentence. */
  | { readonly kind: 'agent_speaking'; readonly ms: number }
  /** This long after the previous step ended. */
  | { readonly kind: 'after'; readonly ms: number }

export type PersonaAct =
  | { readonly kind: 'say'; readonly utterance: number }
  | { readonly kind: 'press'; readonly digits: string }
  | { readonly kind: 'stop_media' }
  | { readonly kind: 'hang_up' }

/** A simulated far end: what it does once its call is answered. Steps run in order, once each. */
export interface PersonaSpec {
  readonly name: string
  readonly script: SpeakerScript
  readonly steps: readonly { readonly cue: PersonaCue; readonly act: PersonaAct }[]
  /** Start again at this step after the last one; null to stay silent then. */
  readonly loopFrom: number | null
}
