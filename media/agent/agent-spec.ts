/* The party that a media worker plays, as plain data that crosses a thread. */

/** A word and its time (ms), relative to the start of the turn or clip that holds the word. */
export interface TimedWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
}

/**
 * The text that recognition writes: as spoken, in English, or each word in the script of its own language.
 */
export type RecognitionMode = 'transcribe' | 'translate' | 'codemix'

/**
 * Position of a secret in a request. The value is not included because specs cross threads and may be logged.
 */
export interface HttpToolAuth {
  readonly type: 'none' | 'bearer' | 'basic' | 'api_key'
  /** For `api_key`: header or query. Null means header. */
  readonly in: 'header' | 'query' | null
  /** For `api_key`: name of the header or query parameter. For `basic`: the user name. */
  readonly name: string | null
  /** Header of a bearer token when it is not `Authorization`. */
  readonly header: string | null
  readonly secretId: string | null
  readonly secondary: {
    readonly in: 'header' | 'query'
    readonly name: string
    readonly secretId: string
  } | null
}

/** The request of an HTTP tool. Saving a tool checks that its address is public https. */
export interface HttpToolRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  /** From 1,000 to 20,000. */
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
  readonly bodyFormat: 'json' | 'form'
  /** Name under which the body holds the arguments. Null means that the arguments are the body. */
  readonly bodyRoot: string | null
  readonly auth: HttpToolAuth | null
  /** The connection whose secret is sent instead of `auth.secretId`. */
  readonly connectionId: string | null
}

/** Presets that other parts of the service run. */
export type ServicePreset = 'transfer_call' | 'send_dtmf' | 'opt_out' | 'schedule_callback'

export type ToolAction =
  /** Ends the call after the words of the same answer were spoken. */
  | { readonly kind: 'end_call' }
  | { readonly kind: 'mock'; readonly response: string }
  | { readonly kind: 'http'; readonly request: HttpToolRequest }
  | { readonly kind: ServicePreset }
  /** Searches knowledge bases. The conversation uses it by itself, the model does not. */
  | {
      readonly kind: 'knowledge'
      readonly bases: readonly { readonly id: string; readonly buildId: string }[]
    }

export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: readonly {
    readonly name: string
    readonly description: string
    readonly type: 'string' | 'number' | 'integer' | 'boolean'
    readonly required: boolean
    /** The only values that the model may give. Absent means any. */
    readonly values?: readonly string[]
  }[]
  /** Filler spoken while the tool runs, by language tag. */
  readonly speech: Readonly<Record<string, string>>
  readonly action: ToolAction
}

/**
 * Transfer of a call to a person. Every destination exists; whether it is verified is checked at the
 * transfer.
 */
export interface TransferSpec {
  readonly handoff: 'cold' | 'warm'
  readonly blindTransfers: boolean
  readonly defaultDestinationId: string | null
  readonly destinations: readonly {
    readonly destinationId: string
    readonly fallbackDestinationId: string | null
    readonly when: string
  }[]
  /** The key with which a caller asks for a person. */
  readonly dtmfKey: string | null
  readonly preTransferLine: string | null
  readonly afterMissLine: string | null
  readonly recordHumanSegment: boolean
  /** Requests in plain words ("a person, please") start a transfer. */
  readonly requestPhrases: boolean
  readonly ringTimeoutSeconds: number
}

/** A language model of a vendor. */
export interface ChosenModel {
  readonly vendor: string
  readonly model: string
  /** Context window: tokens of a prompt and its answer. Absent means the default. */
  readonly windowTokens?: number
}

/** A voice that takes over when the agent's own fails, and the languages that it speaks. */
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

/** Vendors that take over when the agent's own fail, each list in the order of use. */
export interface FallbackVendors {
  readonly speechToText: readonly FallbackRecogniser[]
  readonly languageModel: readonly ChosenModel[]
  /** The embedded voice always follows these. */
  readonly textToSpeech: readonly FallbackVoice[]
}

/** Knowledge that is part of the prompt. Knowledge that is searched is a tool with the action `knowledge`. */
export interface KnowledgeText {
  readonly mode: 'inline'
  /** Name of the knowledge base or document. */
  readonly name: string
  readonly text: string
}

/** How soon the agent answers, and how easily the caller interrupts it. */
export interface TurnTakingSpec {
  readonly preset: 'fast' | 'balanced' | 'patient'
  /** Longest wait (ms) for more words. Null means that of the preset. */
  readonly maxWaitMs: number | null
  readonly interruption: {
    /** Voiced time (ms) that interrupts the agent without words. Null means that of the preset. */
    readonly minMs: number | null
    /** Fewer words interrupt the agent only as a backchannel does: by their length. */
    readonly minWords: number
  }
  /** The agent says "hm" while the caller speaks for long. Absent means no. */
  readonly backchannels?: boolean
}

/** One agent version with its variables filled in. */
export interface AgentSpec {
  readonly agentId: string
  /** Null for a draft. */
  readonly agentVersionId: string | null
  readonly name: string
  readonly systemPrompt: string
  /** Spoken first, as soon as media is live. With null, the caller speaks first. */
  readonly openingLine: string | null
  /** True if the opening line is spoken to its end. The caller's words meanwhile are answered after it. */
  readonly openingProtected?: boolean
  /** Absent means the preset `balanced`. */
  readonly turnTaking?: TurnTakingSpec
  /** Names and terms that callers use, for vendors that take hints. Absent means none. */
  readonly vocabulary?: readonly string[]
  /** Removes noise from the caller's audio before speech is detected. Absent means no. */
  readonly noiseSuppression?: boolean
  /** Spoken to the end before the agent or a limit ends the call. With null, the call ends at once. */
  readonly hangupLine: string | null
  /** Languages that the agent speaks, as tags such as `en-IN`. The first is the default. */
  readonly languages: readonly string[]
  readonly speechToText: {
    readonly vendor: string
    readonly model: string | null
    /** The language to recognise. */
    readonly language: string
    readonly mode: RecognitionMode
    /** Languages that the model understands. Absent means the language of the stream. */
    readonly languages?: readonly string[]
  }
  readonly textToSpeech: {
    readonly vendor: string
    readonly model: string | null
    readonly voice: string
    readonly pace: number
    /** Absent when the catalogue does not know it. */
    readonly gender?: 'female' | 'male' | 'neutral'
    /** Languages that the voice speaks. Absent means all of the agent's. */
    readonly languages?: readonly string[]
  }
  readonly languageModel: ChosenModel
  /** Knowledge in order of importance. Absent means none. */
  readonly knowledge?: readonly KnowledgeText[]
  readonly tools: readonly ToolSpec[]
  /**
   * How the caller opts out of calls: with words, or with a key. The agent then confirms it and ends the call. Null or
   * absent: the agent hears no opt-out.
   */
  readonly optOut?: { readonly phrases: boolean; readonly dtmfKey: string | null } | null
  readonly nudges: {
    readonly enabled: boolean
    readonly hangupAfter: boolean
    readonly steps: readonly { readonly afterSeconds: number; readonly text: string }[]
  }
  /** Background sound under the agent's voice. Volume is 0 to 1. */
  readonly background: {
    readonly sound: 'none' | 'office' | 'cafe' | 'call_center'
    readonly volume: number
  }
  /** Enables answering-machine detection in the first seconds. */
  readonly voicemail: {
    readonly enabled: boolean
    readonly windowSeconds: number
    /** Left after the beep. Null or absent: the call ends at once. */
    readonly message?: string | null
  }
  readonly transfer: TransferSpec
  readonly fallbacks?: FallbackVendors
  readonly maxCallSeconds: number
}

/** A voice without a conversation: what it takes to say texts. */
export type VoiceSpec = Pick<AgentSpec, 'languages' | 'textToSpeech' | 'fallbacks'>

/** Settings of a plain conversation: no background sound, no answering-machine detection, no transfers. */
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

/** One clip of a simulated speaker, in script order. */
export interface ScriptedUtterance {
  /** Name of the clip. */
  readonly clip: string
  readonly text: string
  readonly language: string
  /** Words, timed in ms from the clip's first sample. Empty for noise such as a cough. */
  readonly words: readonly TimedWord[]
  /** Labelled first and last voiced sample of the clip (ms). */
  readonly onsetMs: number
  readonly offsetMs: number
}

export interface SpeakerScript {
  readonly utterances: readonly ScriptedUtterance[]
  /**
   * A looping speaker (`PersonaSpec.loopFrom`) starts again at this utterance after the last one. Absent when
   * the speaker stops. Sandbox recognition uses this index to assign repeated speech.
   */
  readonly repeatFrom?: number
}

/** Start condition of a persona's next step. */
export type PersonaCue =
  /** The agent spoke and was then silent for this time. */
  | { readonly kind: 'agent_silent'; readonly ms: number }
  /** This time has passed since the agent began to speak, so the step falls into its sentence. */
  | { readonly kind: 'agent_speaking'; readonly ms: number }
  /** This time has passed since the previous step ended. */
  | { readonly kind: 'after'; readonly ms: number }

export type PersonaAct =
  | { readonly kind: 'say'; readonly utterance: number }
  | { readonly kind: 'press'; readonly digits: string }
  | { readonly kind: 'stop_media' }
  | { readonly kind: 'hang_up' }

/** A simulated far end. After the answer its steps run in order, once each. */
export interface PersonaSpec {
  readonly name: string
  readonly script: SpeakerScript
  readonly steps: readonly { readonly cue: PersonaCue; readonly act: PersonaAct }[]
  /** Index of the step at which to start again after the last one. With null, the persona stays silent. */
  readonly loopFrom: number | null
}
